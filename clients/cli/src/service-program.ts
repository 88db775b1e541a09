import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeEarlyEnd } from './early-end.js';
import { type Settings, SettingsError } from './settings.js';

const PACKAGE = 'agent-governance-service';
const SERVICE = join('dist', 'main.js');
const VERIFIER = join('verifier', 'main.mjs');
/** Flags and environment as in `npm start`. */
const SERVICE_FLAGS = ['--max-semi-space-size=32', '--max-old-space-size=512'];
const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '524288',
  MALLOC_TRIM_THRESHOLD_: '8388608',
} as const;

/** Runs the service in the folder of the user; this command ends when the service does. */
export async function runService(folder: string): Promise<void> {
  await ensureBuilt(folder);
  await runToTheEnd(join(folder, SERVICE), [], SERVICE_FLAGS);
}

/** Runs a program; this command ends when the program does. */
async function runToTheEnd(file: string, parameters: readonly string[], flags: readonly string[] = []): Promise<void> {
  const program = spawn(process.execPath, [...flags, file, ...parameters], {
    env: { ...process.env, ...ALLOCATOR },
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => program.kill(signal));
  // The service does not expect to have a terminal.
  process.on('SIGHUP', () => program.kill('SIGTERM'));
  process.exitCode = await exitCodeOf(program);
}

/** Runs the offline verifier; this command ends when it does. */
export function runVerifier(folder: string, parameters: readonly string[]): Promise<void> {
  return runToTheEnd(join(folder, VERIFIER), parameters);
}

/** The verdict of the offline verifier on an export. */
export interface Verdict {
  readonly valid: boolean;
  readonly entries: number;
  readonly firstFaults: readonly { readonly layer: string; readonly place: string; readonly fault: string }[];
}

/** @throws SettingsError if the verifier cannot read the file. */
export async function verifiedExport(folder: string, file: string): Promise<Verdict> {
  const program = spawn(process.execPath, [join(folder, VERIFIER), file, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([text(program.stdout), text(program.stderr), exitCodeOf(program)]);
  if (output === '') throw new SettingsError(...`The verifier failed: ${errors.trim()}`.split('\n'));
  return JSON.parse(output) as Verdict;
}

/** A service with its own database. */
export interface TemporaryService {
  readonly settings: Settings;
  /** Ends the service, and removes its database. */
  stop(): Promise<void>;
}

/**
 * Starts the service on a free port of this machine. The settings of the user are ignored.
 * @throws SettingsError if it does not start.
 */
export async function startTemporaryService(service: string): Promise<TemporaryService> {
  await ensureBuilt(service);
  const folder = mkdtempSync(join(tmpdir(), 'governance-'));
  const key = randomBytes(32).toString('hex');
  const { PATH, SystemRoot } = process.env;
  const system = SystemRoot === undefined ? { PATH } : { PATH, SystemRoot };
  const program = spawn(process.execPath, [...SERVICE_FLAGS, join(service, SERVICE)], {
    cwd: folder,
    env: { ...system, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'error', API_KEY: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exitCode = exitCodeOf(program);
  const stop = async (): Promise<void> => {
    program.kill('SIGTERM');
    await exitCode;
    rmSync(folder, { recursive: true, force: true });
  };
  beforeEarlyEnd(stop);
  try {
    return { settings: { url: await addressOf(program), key }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Returns the address on which the service listens, as its banner says. */
async function addressOf({ stdout, stderr }: ChildProcess): Promise<string> {
  let output = '';
  return new Promise<string>((resolve, reject) => {
    for (const stream of [stdout, stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
        const url = /^ *API {2,}(http\S+)\/api\/v1$/m.exec(output)?.[1];
        if (url !== undefined) resolve(url);
      });
    }
    stdout?.on('end', () => reject(new SettingsError(...`The service did not start: ${output.trim()}`.split('\n'))));
  });
}

/** Installs and compiles what is missing in a clone; a package is complete. */
async function ensureBuilt(folder: string): Promise<void> {
  const script = join(folder, 'scripts', 'ensure-built.mjs');
  const program = spawn(process.execPath, [script], { stdio: ['ignore', process.stderr, process.stderr] });
  if ((await exitCodeOf(program)) !== 0) throw new SettingsError('The service could not be built: see above.');
}

async function exitCodeOf(program: ChildProcess): Promise<number> {
  const [code] = (await once(program, 'close')) as [number | null];
  return code ?? 1;
}

/** The option of every command that runs the service or its verifier. */
export const SERVICE_OPTION = [
  '--service <folder>',
  'run the service or verifier of this folder, not the one installed next to gov',
] as const;

export interface ServiceOption {
  readonly service?: string;
}

/**
 * The folder that the user named, else the clone that contains this file, else the package installed next to it. The
 * current folder does not count: it may hold evidence, with code that somebody put there to be run as the auditor.
 * @throws SettingsError if the service is not there.
 */
export function serviceFolder(folderOption?: string): string {
  if (folderOption !== undefined) {
    if (isService(folderOption)) return resolve(folderOption);
    throw new SettingsError(
      `--service ${folderOption}: that folder holds no ${PACKAGE}, which its package.json would name.`,
    );
  }
  const folder = installedService();
  if (folder !== undefined) return folder;
  throw new SettingsError(
    'The service is not installed next to gov. Use `npm run gov -- …` in a clone, install the .tgz that `npm pack` makes ' +
      'in one next to gov, or name its folder: --service <folder>.',
  );
}

/** The folder of the service that belongs to this `gov`, or undefined if there is none. */
export function installedService(): string | undefined {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const packageFolder = join(folder, 'node_modules', PACKAGE);
    for (const candidate of [folder, packageFolder]) if (isService(candidate)) return candidate;
  }
  return undefined;
}

function isService(folder: string): boolean {
  try {
    return (JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: string }).name === PACKAGE;
  } catch {
    return false;
  }
}
