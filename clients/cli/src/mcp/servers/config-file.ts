import { readJsonFile } from '../../json-file.js';
import { SettingsError } from '../../settings.js';
import { isSecretName } from './child-environment.js';
import type { Target } from './governed-server.js';
import { isPlainName } from '../mapping.js';
import { headersOf, isServerUrl } from './server-address.js';

/** A server of a file, with its name. */
export interface ServerEntry {
  readonly name: string;
  readonly target: Target;
}

const MEMBERS = {
  command: ['type', 'command', 'args', 'env'],
  url: ['type', 'url', 'headers'],
};
const TYPES: Readonly<Record<string, readonly unknown[]>> = {
  command: [undefined, 'stdio'],
  url: [undefined, 'http', 'streamable-http'],
};

/** The servers of a file in the form of MCP clients, in its order. @throws SettingsError that names what is wrong. */
export function readConfig(path: string): ServerEntry[] {
  try {
    const { mcpServers } = object(readJsonFile(path), 'it');
    const entries = Object.entries(object(mcpServers, 'mcpServers'));
    if (entries.length === 0) throw new TypeError('mcpServers names no server.');
    return entries.map(([name, entry]) => ({ name: nameOf(name), target: targetOf(entry, `mcpServers.${name}`) }));
  } catch (error) {
    throw new SettingsError(`The file ${path} cannot be used: ${error instanceof Error ? error.message : ''}`);
  }
}

/** Tools are shown as `<server>__<tool>`, which can be read in one way only. */
function nameOf(name: string): string {
  if (isPlainName(name) && !name.includes('__') && !name.endsWith('_')) return name;
  throw new TypeError(
    `a server's name is 1 to 100 letters, digits, ".", "_" and "-", without "__" and without a final "_"; ${JSON.stringify(name)} is not.`,
  );
}

function targetOf(value: unknown, place: string): Target {
  const entry = object(value, place);
  const kind = 'command' in entry ? 'command' : 'url';
  if (!('url' in entry) && !('command' in entry)) throw new TypeError(`${place} needs a command or a url.`);
  const unknownName = Object.keys(entry).find((name) => !MEMBERS[kind].includes(name));
  if (unknownName !== undefined)
    throw new TypeError(
      `${place} has the member ${unknownName}. With ${kind} it may have: ${MEMBERS[kind].join(', ')}.`,
    );
  if (TYPES[kind]?.includes(entry['type']) !== true)
    throw new TypeError(`${place}.type does not match a server with a ${kind}.`);
  if (kind === 'command') return commandOf(entry, place);
  const url = text(entry['url'], `${place}.url`);
  if (!isServerUrl(url)) throw new TypeError(`${place}.url is a URL, such as https://tools.example.com/mcp.`);
  const headers = Object.entries(texts(entry['headers'], `${place}.headers`));
  return { url: new URL(url), headers: headersOf(headers.map(([name, header]) => `${name}: ${header}`)) };
}

function commandOf({ command, args = [], env }: Record<string, unknown>, place: string): Target {
  if (!Array.isArray(args)) throw new TypeError(`${place}.args must be a list.`);
  const words = args.map((word, index) => text(word, `${place}.args[${index}]`));
  return { command: [text(command, `${place}.command`), ...words], env: texts(env, `${place}.env`) };
}

function texts(value: unknown, place: string): Record<string, string> {
  const entries = Object.entries(value === undefined ? {} : object(value, place));
  return Object.fromEntries(entries.map(([name, member]) => [name, text(member, `${place}.${name}`)]));
}

/** Replaces the environment variables that a text names. */
function text(value: unknown, place: string): string {
  if (typeof value !== 'string') throw new TypeError(`${place} must be a text.`);
  return value.replace(/\$\{([^}]*)\}/g, (_, name: string) => {
    const variable = /^\w+$/.test(name) && !isSecretName(name) ? process.env[name] : undefined;
    if (variable !== undefined) return variable;
    const message = isSecretName(name) ? 'no server gets GOVERNANCE_…' : 'the environment has no such variable';
    throw new TypeError(`${place} names \${${name}}: ${message}.`);
  });
}

function object(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new TypeError(`${place} must be an object.`);
}
