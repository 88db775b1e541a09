import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { changeWaits, withBreakGlass } from './change-waits.js';
import { findingFetch } from './finding-fetch.js';
import { plain } from './output.js';
import { userFolder } from './user-folder.js';
import { GovernanceClient } from '../../typescript/src/index.js';
import { canBeSent } from '../../typescript/src/transport.js';

const DEFAULT_URL = 'http://127.0.0.1:3000';

/** Something the user lacks: a key, or a readable file. The message says how to get it. */
export class SettingsError extends Error {
  /**
   * @param lines of the message. A line break within a line is shown as an escape: a name or an argument cannot add
   *   lines.
   */
  constructor(...lines: readonly string[]) {
    super(lines.map(plain).join('\n'));
  }
}

/** The message of an error as it may be shown: only a `SettingsError` has several lines. */
export function shownMessage(error: unknown): string {
  if (error instanceof SettingsError) return error.message;
  return plain(error instanceof Error ? error.message : String(error));
}

export interface Settings {
  readonly url: string;
  readonly key: string;
}

/** The client of the service that the environment names, or that `gov login` has stored. */
export function client(): GovernanceClient {
  return clientOf(settings());
}

/** Returns a client for commands that somebody waits for: a service that is not there is an error within seconds. */
export function clientOf({ url, key }: Settings): GovernanceClient {
  const changes = changeWaits(() => governance);
  const governance = new GovernanceClient({ url, key, fetch: withBreakGlass(findingFetch(url)), changes });
  return governance;
}

/** @throws SettingsError if neither the environment nor the file has a key for the service. */
export function settings(): Settings {
  const url = serviceUrl();
  const profile = profileName();
  const key = (profile === undefined ? process.env['GOVERNANCE_API_KEY'] : undefined) ?? keptKeyFor(url);
  if (key === undefined || key === '') {
    throw new SettingsError(
      profile === undefined
        ? `No key for ${url}: run \`gov login --url ${url}\`, or set GOVERNANCE_API_KEY.`
        : `No key for ${url} in the profile ${profile}: run \`gov login --profile ${profile} --url ${url}\`.`,
    );
  }
  requireUsable(key);
  return { url, key };
}

/** Says where the key comes from, to explain that the service does not know it. */
export function keySource(): string {
  const profile = profileName();
  if (profile !== undefined) return `The key is the one that \`gov login --profile ${profile}\` keeps.`;
  return process.env['GOVERNANCE_API_KEY'] === undefined
    ? 'The key is the one that `gov login` keeps; one in GOVERNANCE_API_KEY takes precedence.'
    : 'The key is the one in GOVERNANCE_API_KEY.';
}

/** @throws SettingsError, which does not show the key, if no request can carry it. */
export function requireUsable(key: string): void {
  if (canBeSent(key)) return;
  throw new SettingsError(
    'The key has a character inside that no key has, such as a blank. Was it copied whole, and alone?',
  );
}

/** The setting that names the profile of a command, whose key comes before that in GOVERNANCE_API_KEY. */
const PROFILE = 'GOVERNANCE_PROFILE';

/**
 * Uses a profile in this process, and in those that it starts.
 * @throws SettingsError if no profile can have the name.
 */
export function useProfile(name: string): void {
  process.env[PROFILE] = name;
  profileName();
}

/** The name of the profile in use; undefined if there is none. */
export function profileName(): string | undefined {
  const { [PROFILE]: name } = process.env;
  if (name === undefined || name === '') return undefined;
  if (/^[\w-]{1,50}$/.test(name)) return name;
  throw new SettingsError(
    `Expected the name of a profile of up to 50 letters, digits, - and _, got ${JSON.stringify(name)}.`,
  );
}

/** Returns the stored key for the service of its login; another service that the environment names must not get it. */
function keptKeyFor(url: string): string | undefined {
  const stored = keptSettings();
  return stored !== null && isSameAddress(stored.url, url) ? stored.key : undefined;
}

/** True if two URLs are equal, however they are written: `HTTP://LocalHost:80` is `http://localhost`. */
function isSameAddress(left: string, right: string): boolean {
  return URL.canParse(left) && new URL(left).href === new URL(right).href;
}

/** URL of the service, with or without a key. */
export function serviceUrl(): string {
  const url = process.env['GOVERNANCE_URL'];
  return url === undefined ? (keptSettings()?.url ?? DEFAULT_URL) : serviceAddress(url);
}

/** The URL as a user enters it, possibly that of the API. @throws SettingsError if it is not a URL. */
export function serviceAddress(text: string): string {
  if (URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol)) {
    return text.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
  }
  throw new SettingsError(`Expected a URL such as ${DEFAULT_URL}, got ${JSON.stringify(text)}.`);
}

/** Writes a file that only its owner can read. Returns its path. */
export function keepSettings(settings: Settings): string {
  const path = settingsPath();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // An existing file keeps its permissions, and whoever has it open reads on: it is replaced in one step.
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(draft, path);
  } finally {
    rmSync(draft, { force: true });
  }
  return path;
}

function keptSettings(): Settings | null {
  const path = settingsPath();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new SettingsError(`${path} cannot be read: ${String(error)}`);
  }
  try {
    return JSON.parse(text) as Settings;
  } catch {
    throw new SettingsError(`${path} is not what \`gov login\` wrote. Run it again.`);
  }
}

function settingsPath(): string {
  const { XDG_CONFIG_HOME: config, APPDATA: appData } = process.env;
  const profile = profileName();
  const file = profile === undefined ? ['login.json'] : ['profiles', `${profile}.json`];
  return join(userFolder([config, appData], '.config'), 'agent-governance', ...file);
}
