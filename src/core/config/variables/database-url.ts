import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file. `path` is as configured; the database module resolves it. */
interface SqliteLocation {
  readonly kind: 'sqlite';
  readonly path: string;
}

/** A database on a server. `url` may hold a password: never show it. */
interface PostgresLocation {
  readonly kind: 'postgres';
  readonly url: string;
}

/** Location of the records. */
export type ConfiguredDatabase = SqliteLocation | PostgresLocation;

const SCHEME = 'sqlite:';
const URL_PARTS =
  /^(?<scheme>[a-z][a-z\d+.-]*:\/\/)(?:(?<user>[^:@/?#]*)(?<password>:[^@/?#]*)?@)?(?<place>[^:@/?#]+(?::\d+)?(?:\/[^:@?#]*)?)(?<query>\?.*)?$/i;

/** `sqlite:<path>` or `postgres://…`; undefined if the text is neither, or lacks what a connection needs. */
export function parseDatabaseUrl(text: string): ConfiguredDatabase | undefined {
  if (!isPostgresUrl(text)) return parseSqliteUrl(text);
  return postgresUrlFault(text) === undefined ? { kind: 'postgres', url: text } : undefined;
}

/** The path is taken literally, absolute or relative to the working folder. */
function parseSqliteUrl(text: string): SqliteLocation | undefined {
  if (!text.startsWith(SCHEME)) return undefined;
  const path = text.slice(SCHEME.length);
  const isFilePath = path !== '' && !path.endsWith('/') && !/[?#\0]/.test(path);
  // With two slashes, the first folder would be a host, as in sqlite://data/governance.db, so this is reported.
  const isAmbiguous = /^\/\/[^/]/.test(path);
  return isFilePath && !isAmbiguous && !isInMemory(path) ? { kind: 'sqlite', path } : undefined;
}

/** Returns the fault of a URL of a supported kind. */
export function explainDatabaseUrl(text: string): string | undefined {
  if (isPostgresUrl(text)) return postgresUrlFault(text);
  if (text.startsWith(SCHEME) && isInMemory(text.slice(SCHEME.length))) return 'records must be kept in a file';
  return undefined;
}

/** Shows a URL without password and query; if its parts cannot be told apart, at most the scheme. */
export function maskDatabaseUrl(text: string): string {
  const mayHoldPassword = /[:@]/.test(text.replace(/^sqlite:/, ''));
  if (!mayHoldPassword) return JSON.stringify(text);
  const parts = URL_PARTS.exec(text)?.groups;
  if (!parts) return `${/^[a-z][a-z\d+.-]*:(?=\/\/)/i.exec(text)?.[0] ?? ''}***`;
  const { scheme = '', user, password, place = '', query } = parts;
  const credentials = user === undefined ? '' : `${user}${password === undefined ? '' : ':***'}@`;
  return JSON.stringify(`${scheme}${credentials}${place}${query === undefined ? '' : '?***'}`);
}

const temporaryFolders = new Set<string>();

/** A separate database for each process that does not name one, as tests need. It is removed with the process. */
export function temporaryDatabaseUrl(): string {
  const folder = join(tmpdir(), `governance-${randomUUID()}`);
  if (temporaryFolders.size === 0)
    process.once('exit', () => temporaryFolders.forEach((each) => rmSync(each, { recursive: true, force: true })));
  temporaryFolders.add(folder);
  return `${SCHEME}${join(folder, 'governance.db')}`;
}

function isInMemory(path: string): boolean {
  return path.startsWith(':memory:');
}

/**
 * Permitted parameters; any other, such as a misspelt `sslmode`, would be ignored and leave the connection unencrypted.
 */
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  sslmode: /^(disable|prefer|require|verify-ca|verify-full)$/,
  sslrootcert: /./,
  sslcert: /./,
  sslkey: /./,
  options: /./,
};

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:/i.test(text);
}

/** Returns the fault of a URL, without quoting it; undefined if it can be used for a connection. */
function postgresUrlFault(text: string): string | undefined {
  if (!/^postgres(ql)?:\/\/[\x21-\x7e]+$/i.test(text) || !URL.canParse(text)) {
    return 'it is not a URL; write the special characters of user and password percent-encoded';
  }
  const { username, password, hostname, pathname, searchParams, hash } = new URL(text);
  if (hash !== '') return 'it has a #; write that as %23';
  if (![username, password, hostname, pathname].every(isDecodable))
    return 'a % in it is not followed by two hex digits';
  if (hostname === '') return 'it names no host';
  if (username === '') return 'it names no user';
  if (!/^\/[^/]+$/.test(pathname)) return 'it names no database after the host';
  return parameterFault(searchParams);
}

function parameterFault(parameters: URLSearchParams): string | undefined {
  for (const [name, value] of parameters) {
    const pattern = PARAMETERS[name];
    if (pattern === undefined) return `its parameters may be ${Object.keys(PARAMETERS).join(', ')}`;
    if (!pattern.test(value)) return `its ${name} has a value that is not known`;
    if (parameters.getAll(name).length > 1) return `its ${name} is given twice`;
  }
  const needsRoot = parameters.get('sslmode') === 'verify-ca' && !parameters.has('sslrootcert');
  return needsRoot ? 'its sslmode verify-ca needs sslrootcert' : undefined;
}

export function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
