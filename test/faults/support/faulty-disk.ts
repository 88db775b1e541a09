import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Calls that fail: see faulty-disk.c. */
export interface DiskFault {
  readonly operation: 'write' | 'sync' | 'any';
  readonly file: 'data' | 'log' | 'any';
  readonly action: 'EIO' | 'ENOSPC' | 'kill' | 'tear';
  /** Matching calls that pass before. */
  readonly count?: number;
}

/** Intercepts the service's calls on the files of its database, and makes those fail that the test names. */
export interface FaultyDisk {
  /** The environment that the service must be started with. */
  readonly environment: Readonly<Record<string, string>>;
  fail(fault: DiskFault): void;
  heal(): void;
  /** Number of calls that have failed so far. */
  failures(): number;
  /** Sets the service's clock this many milliseconds ahead of the machine's. */
  moveClock(milliseconds: number): void;
  remove(): void;
}

const SOURCE = join(__dirname, 'faulty-disk.c');
const COMPILER = ['cc', 'gcc'].find((name) => spawnSync(name, ['--version']).status === 0);
const CONTROL_SIZE = 256;
const TEXT = 8;
const TEXT_SIZE = 240;
const FAILURES = 248;

/** For tests that need a faulty disk; skipped, visibly, without a C compiler or LD_PRELOAD. */
export function describeWithFaultyDisk(title: string, tests: () => void): void {
  if (COMPILER !== undefined && process.platform === 'linux') describe(title, tests);
  else describe.skip(`${title} (skipped: needs Linux and a C compiler)`, tests);
}

/** Compiles the shim for the database at a path; at first nothing fails. */
export function faultyDisk(databasePath: string): FaultyDisk {
  const folder = mkdtempSync(join(tmpdir(), 'governance-disk-'));
  const [library, control] = [join(folder, 'faulty-disk.so'), join(folder, 'control')];
  const compiled = spawnSync(COMPILER ?? 'cc', ['-shared', '-fPIC', '-O2', '-o', library, SOURCE, '-ldl']);
  if (compiled.status !== 0) throw new Error(`The shim does not compile: ${compiled.stderr.toString()}`);
  writeFileSync(control, Buffer.alloc(CONTROL_SIZE));
  const put = (bytes: Buffer, position: number): void => {
    const file = openSync(control, 'r+');
    writeSync(file, bytes, 0, bytes.length, position);
    closeSync(file);
  };
  let number = 0;
  const order = (text: string): void => {
    number += 1;
    const bytes = Buffer.alloc(TEXT_SIZE);
    bytes.write(`${number} ${text}`);
    put(bytes, TEXT);
  };
  return {
    environment: { LD_PRELOAD: library, FAULT_DATABASE: databasePath, FAULT_CONTROL: control },
    fail: ({ operation, file, action, count = 0 }) => order(`${operation} ${file} ${action} ${count}`),
    heal: () => order('any any off 0'),
    failures: () => Number(readFileSync(control).readBigInt64LE(FAILURES)),
    moveClock: (milliseconds) => {
      const bytes = Buffer.alloc(TEXT);
      bytes.writeBigInt64LE(BigInt(milliseconds));
      put(bytes, 0);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
