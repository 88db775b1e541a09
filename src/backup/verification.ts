import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const VERIFIER = join(__dirname, '..', '..', 'verifier', 'main.mjs');
/** The verifier's exit code for a database it could not read. */
const UNREADABLE = 2;

/** What the offline verifier found, as docs/verifier.md describes it. */
export interface Verification {
  readonly valid: boolean;
  readonly entries: number;
  readonly head: { readonly sequence: number; readonly hash: string };
  readonly faults: number;
  readonly firstFaults: readonly { readonly layer: string; readonly place: string; readonly fault: string }[];
}

/** Verifies the chain, the tree and the records of a SQLite file with the offline verifier, in a separate process. */
export async function verifyDatabase(path: string, signal: AbortSignal): Promise<Verification> {
  const verifier = spawn(process.execPath, [VERIFIER, path, '--json'], { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const [output, errors] = await Promise.all([
    verifier.stdout.setEncoding('utf8').toArray(),
    verifier.stderr.setEncoding('utf8').toArray(),
    once(verifier, 'close'),
  ]);
  if (verifier.exitCode === null || verifier.exitCode >= UNREADABLE || output.length === 0) {
    throw new Error(`what was written could not be verified. ${errors.join('').trim()}`.trimEnd());
  }
  return JSON.parse(output.join('')) as Verification;
}

/** A command line that cannot be carried out. */
export class UsageError extends Error {}
