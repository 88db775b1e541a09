import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../../src/core/config/variables/variable';

const SECRET_VARIABLES = [
  'API_KEY',
  'API_KEY_PREVIOUS',
  'SIGNING_KEY',
  'SECRET_KEY',
  'PERMIT_KEY',
  'DATABASE_URL',
  'REDIS_URL',
];

/** Shorter ones occur in ordinary words. */
const SHORTEST_WATCHED = 8;
/** The log's replacement for a secret. It shows that something tried to write one. */
const MASK = '[key]';

const secrets = new Set<string>();
const leaks: string[] = [];

/** Watches for the secrets that an application or a program is started with. */
export function keepSecrets(environment: Environment): void {
  for (const name of SECRET_VARIABLES) {
    const value = environment[name] ?? '';
    (URL.canParse(value) ? passwordForms(value) : [value]).forEach(keepSecret);
  }
}

/** Watches for the signing keys that the service has generated in a folder. */
export function keepSigningKeys(folder: string): void {
  const files = readdirSync(folder).filter((name) => /\.(signing|permit|secret)-key$/.test(name));
  files.forEach((name) => keepSecret(readFileSync(join(folder, name), 'utf8').trim()));
}

/** Watches for a secret that the service has issued. */
export function keepSecret(secret: string): void {
  if (secret.length >= SHORTEST_WATCHED) secrets.add(secret);
}

/** Records a leak if a text from the service contains a secret that was not `sent` to it as content. */
export function watch(where: string, text: string, sent = ''): void {
  const decoded = decodedForms(text);
  for (const secret of secrets) {
    const at = text.indexOf(secret);
    if (at >= 0 && !sent.includes(secret)) leaks.push(`${where}: ${text.slice(Math.max(0, at - 100), at)}[here]`);
    else if (isIn(decoded, secret) && !isIn(decodedForms(sent), secret)) leaks.push(`${where}, encoded: ${text}`);
  }
}

/** Checks that a line of the log has neither a secret nor the replacement of one. */
export function watchLog(line: string): void {
  watch('log', line);
  if (line.includes(MASK)) leaks.push(`log, masked: ${line}`);
}

function isIn(texts: readonly string[], secret: string): boolean {
  return texts.some((text) => text.includes(secret));
}

/** The text, percent-decoded once and more often, until nothing is left to decode. */
function decodedForms(text: string): string[] {
  const forms: string[] = [];
  for (let last = text, decoded = decodedOnce(last); decoded !== last; decoded = decodedOnce(last)) {
    forms.push(decoded);
    last = decoded;
  }
  return forms;
}

/** The secrets in tests are ASCII. */
function decodedOnce(text: string): string {
  return text.replace(/%([0-7][0-9a-f])/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
}

/** Records a leak that was found by other means. */
export function noteLeak(leak: string): void {
  leaks.push(leak);
}

/** The secrets known so far. */
export function knownSecrets(): string[] {
  return [...secrets];
}

/** Returns the leaks found since the last call. */
export function takeLeaks(): string[] {
  return leaks.splice(0);
}

/** Called when all applications of a test file are closed: to search for their secrets takes time for each answer. */
export function forgetSecrets(): void {
  secrets.clear();
}

function passwordForms(url: string): string[] {
  const { password } = new URL(url);
  return [password, decodeURIComponent(password)];
}
