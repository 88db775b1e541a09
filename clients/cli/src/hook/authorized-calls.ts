import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Execution, Outcome } from '../../../typescript/src/index.js';
import { userFolder } from '../user-folder.js';

/** What is remembered of a use of a tool from one hook to the next. */
export interface AuthorizedCall {
  /** URL of the service that authorised it. */
  readonly service: string;
  readonly execution: Execution;
  /** Once the tool has run: to be reported. */
  readonly outcome?: Outcome;
  /** The process that has been reporting it. */
  readonly reporter?: number;
}

/** A file that holds one. */
export interface KeptCall extends AuthorizedCall {
  readonly path: string;
}

const SUFFIX = '.json';
/** One that a hook has taken, to add the outcome. */
const CLAIMED = /\.json\.\d+\.json$/;
/** Milliseconds after which a tool that has not run never will: its user refused it. */
const LONGEST_QUESTION = 30 * 24 * 60 * 60_000;
/** Milliseconds: no hook takes longer. */
const LONGEST_HOOK = 1_000_000;

/** Remembers, from the hook before the use of a tool to the hook after it, which execution authorised it. */
export function keepAuthorized(call: string, service: string, execution: Execution): void {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  for (const path of paths()) {
    if (age(path) > LONGEST_QUESTION && read(path)?.outcome === undefined) rmSync(path, { force: true });
  }
  write(join(folder(), `${digestOf(call)}.${digestOf(execution.id)}${SUFFIX}`), { service, execution });
}

/**
 * That use, with its outcome, until it is reported; null if it was not authorised here, or is reported already. Of equal uses that
 * have no id it is any: they were authorised as the same.
 */
export function keepOutcome(call: string, outcome: Outcome): KeptCall | null {
  for (const path of paths().filter((one) => basename(one).startsWith(digestOf(call)) && !CLAIMED.test(one))) {
    const kept = read(path);
    if (kept === null || kept.outcome !== undefined) continue;
    // It keeps the new name: back under the old one, a hook that has read it before would take it a second time.
    const claimed = `${path}.${process.pid}${SUFFIX}`;
    if (!isRenamed(path, claimed)) continue;
    const own = { ...kept, outcome, reporter: process.pid };
    write(claimed, own);
    return { path: claimed, ...own };
  }
  return null;
}

/** False where another hook was faster. */
function isRenamed(path: string, to: string): boolean {
  try {
    renameSync(path, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Others of the same agent at the same service that have run and could not be reported so far. */
export function unreported({ service, execution: { agentId } }: KeptCall): KeptCall[] {
  return paths().flatMap((path) => {
    const kept = read(path);
    if (kept?.outcome === undefined || kept.service !== service || kept.execution.agentId !== agentId) return [];
    const isBeingReported = age(path) < LONGEST_HOOK && isRunning(kept.reporter);
    return isBeingReported ? [] : [{ path, ...kept }];
  });
}

export function forget({ path }: KeptCall): void {
  rmSync(path, { force: true });
}

/** Null where there is none: another hook may have removed it, and a crash of the machine may have cut it short. */
function read(path: string): AuthorizedCall | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as AuthorizedCall;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** In one step: other hooks read it at the same time, and a full disk must not cost what is there. */
function write(path: string, call: AuthorizedCall): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(call), { mode: 0o600 });
  renameSync(draft, path);
}

/** Milliseconds since it was written. */
function age(path: string): number {
  const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return written === undefined ? 0 : Date.now() - written;
}

function isRunning(reporter: number | undefined): boolean {
  try {
    return reporter !== undefined && process.kill(reporter, 0);
  } catch {
    // There is none, or it is another user's.
    return false;
  }
}

function paths(): string[] {
  const names = (existsSync(folder()) ? readdirSync(folder()) : []).filter((name) => name.endsWith(SUFFIX));
  return names.map((name) => join(folder(), name));
}

function digestOf(call: string): string {
  return createHash('sha256').update(call).digest('hex');
}

function folder(): string {
  const { XDG_STATE_HOME: state, LOCALAPPDATA: local } = process.env;
  return join(userFolder([state, local], '.local', 'state'), 'agent-governance', 'hooks');
}
