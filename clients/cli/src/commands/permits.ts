import type { Command } from 'commander';
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { duration, plain, printJson, printLine } from '../output.js';
import { serviceUrl, SettingsError } from '../settings.js';
import { GovernanceError } from '../../../typescript/src/index.js';
import { unreachableText } from '../../../typescript/src/never-connected.js';

type Part = Readonly<Record<string, unknown>>;

/** The contents of a token, and the results of its checks. */
interface InspectedPermit {
  readonly header: Part;
  readonly claims: Part;
  /** True if a key of the service signed the token; null if the service lists no keys. */
  readonly signed: boolean | null;
  /** Seconds until the token expires; negative after that, and NaN if it has no expiry. */
  readonly remainingSeconds: number;
}

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export function addPermitCommands(program: Command): void {
  program
    .command('permit')
    .description('inspect permits, tokens that prove one authorised action')
    .command('inspect <token>')
    .description('show what a permit says, whether a key of the service signed it, and how long it is valid')
    .option('--json', 'the answer as JSON')
    .action(inspect);
}

async function inspect(token: string, { json }: { readonly json?: boolean }): Promise<void> {
  const permit = await inspectedPermit(token);
  const { claims, signed, remainingSeconds } = permit;
  if (json === true) printJson(permit);
  else {
    // Anybody can have written the token: a line break in a claim could fake the line of the signature.
    for (const [name, text] of rowsOf(claims)) printLine(plain(`${name.padEnd(12)} ${text}`));
    printLine(`signature    ${signatureText(signed)}`);
    printLine(`validity     ${validityText(remainingSeconds)}`);
  }
  if (signed !== true || !(remainingSeconds > 0)) process.exitCode = 1;
}

async function inspectedPermit(token: string): Promise<InspectedPermit> {
  if (!TOKEN.test(token))
    throw new SettingsError('That is not a token: a token has three parts with dots between them.');
  const [head = '', body = '', signature = ''] = token.split('.');
  const [header, claims] = [parsePart(head), parsePart(body)];
  const keys = await listedKeys();
  const key = keys?.find(({ kid }) => kid === header['kid']);
  const isSigned = (key: JsonWebKey): boolean =>
    header['alg'] === 'ES256' &&
    verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    );
  const signed = keys === null ? null : key !== undefined && isSigned(key);
  return { header, claims, signed, remainingSeconds: Math.ceil(secondsIn(claims['exp']) - Date.now() / 1_000) };
}

/** Loads the public keys of the service, which needs no API key; null if the service issues no permits. */
async function listedKeys(): Promise<readonly (JsonWebKey & { readonly kid?: string })[] | null> {
  const service = serviceUrl();
  const url = `${service}/.well-known/jwks.json`;
  const answer = await fetch(url).catch((cause: unknown) => {
    throw new GovernanceError(unreachableText(service, cause), { code: 'UNREACHABLE', status: null, cause });
  });
  if (answer.status === 404) return null;
  if (!answer.ok) throw new SettingsError(`${url} answered ${answer.status}.`);
  const { keys } = Object(await answer.json().catch(() => null)) as { readonly keys?: readonly JsonWebKey[] };
  if (!Array.isArray(keys)) throw new SettingsError(`${url} does not list keys: it is not the address of the service.`);
  return keys as readonly JsonWebKey[];
}

function rowsOf(claims: Part): [name: string, text: string][] {
  const { iss, aud, agent, act, jti, iat, exp, authorization_details: details } = claims;
  const [first] = Array.isArray(details) ? (details as readonly unknown[]) : [];
  const detail = Object(first) as Part;
  const { sub: subject } = (typeof act === 'object' && act !== null ? act : {}) as Part;
  return [
    ['issuer', claimText(iss)],
    ['audience', claimText(aud)],
    ['agent', claimText(agent)],
    ...(subject === undefined ? [] : [['on behalf of', claimText(subject)] as [string, string]]),
    ['action', [detail['actions']].flat().map(claimText).join(', ')],
    ['resource', `${claimText(detail['resource_type'])}/${claimText(detail['identifier'])}`],
    ['parameters', `sha256 ${claimText(detail['parameters_hash'])}`],
    ['execution', claimText(jti)],
    ['issued', timeText(iat)],
    ['expires', timeText(exp)],
  ];
}

function signatureText(signed: boolean | null): string {
  if (signed === null) return 'not checked: the service issues no permits';
  return signed ? 'by a key of the service' : 'NOT by a key of the service';
}

function validityText(remainingSeconds: number): string {
  if (Number.isNaN(remainingSeconds)) return 'it does not say when it ends';
  return remainingSeconds > 0
    ? `${duration(remainingSeconds * 1_000)} left`
    : `over for ${duration(-remainingSeconds * 1_000)}`;
}

/** Returns a claim as text; a dash if the token lacks it. */
function claimText(claim: unknown): string {
  if (claim === undefined) return '–';
  return typeof claim === 'string' ? claim : JSON.stringify(claim);
}

function secondsIn(claim: unknown): number {
  return typeof claim === 'number' ? claim : NaN;
}

function timeText(claim: unknown): string {
  const time = new Date(secondsIn(claim) * 1_000);
  return Number.isNaN(time.getTime()) ? claimText(claim) : time.toISOString();
}

function parsePart(part: string): Part {
  try {
    return Object(JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))) as Part;
  } catch {
    throw new SettingsError('That is not a token: its parts are not JSON in base64url.');
  }
}
