import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeEarlyEnd } from './early-end.js';
import { type Settings, SettingsError } from './settings.js';

const PACKAGE = 'agent-governance-service';
const SERVICE = join('dist', 'main.js');
/** Both as in `npm start`. */
const SERVICE_FLAGS = ['--max-semi-space-size=32', '--max-old-space-size=512'];
const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '524288',
  MALLOC_TRIM_THRESHOLD_: '8388608',
} as const;

/** Runs the service in the folder of the user; this command ends when the service does. */
export async function runService(): Promise<void> {
  await ensureBuilt();
  await runToTheEnd(SERVICE, [], SERVICE_FLAGS);
}

/** Runs a program of the service; this command ends when the program does. */
export async function runToTheEnd(
  file: string,
  parameters: readonly string[],
  flags: readonly string[] = [],
): Promise<void> {
  const program = spawn(process.execPath, [...flags, join(serviceFolder(), file), ...parameters], {
    env: { ...process.env, ...ALLOCATOR },
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => program.kill(signal));
  // The service does not expect to have a terminal.
  process.on('SIGHUP', () => program.kill('SIGTERM'));
  process.exitCode = await exitCodeOf(program);
}

/** The verdict of the offline verifier on an export. */
export interface Verdict {
  readonly valid: boolean;
  readonly entries: number;
  readonly firstFaults: readonly { readonly layer: string; readonly place: string; readonly fault: string }[];
}

/** @throws SettingsError if the verifier cannot read the file. */
export async function verifiedExport(file: string): Promise<Verdict> {
  const verifier = join(serviceFolder(), 'verifier', 'main.mjs');
  const program = spawn(process.execPath, [verifier, file, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors] = await Promise.all([text(program.stdout), text(program.stderr), exitCodeOf(program)]);
  if (output === '') throw new SettingsError(`The verifier failed: ${errors.trim()}`);
  return JSON.parse(output) as Verdict;
}

/** A service with its own database. */
export interface TemporaryService {
  readonly settings: Settings;
  /** Ends it, and removes its database. */
  stop(): Promise<void>;
}

/** Starts the service on a free port of this machine. The settings of the user are ignored. @throws SettingsError if it does not start. */
export async function startTemporaryService(): Promise<TemporaryService> {
  await ensureBuilt();
  const folder = mkdtempSync(join(tmpdir(), 'governance-'));
  const key = randomBytes(32).toString('hex');
  const { PATH, SystemRoot } = process.env;
  const system = SystemRoot === undefined ? { PATH } : { PATH, SystemRoot };
  const program = spawn(process.execPath, [...SERVICE_FLAGS, join(serviceFolder(), SERVICE)], {
    cwd: folder,
    env: { ...system, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'error', API_KEY: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = exitCodeOf(program);
  const stop = async (): Promise<void> => {
    program.kill('SIGTERM');
    await ended;
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

/** Where it listens, as its banner says. */
async function addressOf({ stdout, stderr }: ChildProcess): Promise<string> {
  let printed = '';
  return new Promise<string>((resolve, reject) => {
    for (const stream of [stdout, stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        printed += chunk;
        const url = /^ *API {2,}(http\S+)\/api\/v1$/m.exec(printed)?.[1];
        if (url !== undefined) resolve(url);
      });
    }
    stdout?.on('end', () => reject(new SettingsError(`The service did not start: ${printed.trim()}`)));
  });
}

/** Installs and compiles what is missing in a clone; a package is complete. */
async function ensureBuilt(): Promise<void> {
  const script = join(serviceFolder(), 'scripts', 'ensure-built.mjs');
  const program = spawn(process.execPath, [script], { stdio: ['ignore', process.stderr, process.stderr] });
  if ((await exitCodeOf(program)) !== 0) throw new SettingsError('The service could not be built: see above.');
}

async function exitCodeOf(program: ChildProcess): Promise<number> {
  const [code] = (await once(program, 'close')) as [number | null];
  return code ?? 1;
}

/** The clone that contains this file, or the package installed next to it. */
function serviceFolder(): string {
  const require = createRequire(import.meta.url);
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && (require(manifest) as { name?: string }).name === PACKAGE) return folder;
  }
  try {
    return dirname(require.resolve(`${PACKAGE}/package.json`, { paths: [process.cwd(), import.meta.dirname] }));
  } catch {
    throw new SettingsError(
      'The service is not installed here. Use `npm run gov -- …` in a clone, or install the .tgz that `npm pack` makes in one.',
    );
  }
}
