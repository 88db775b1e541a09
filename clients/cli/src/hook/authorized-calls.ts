import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Execution, Outcome } from '../../../typescript/src/index.js';
import { userFolder } from '../user-folder.js';

/** A use of a tool, remembered from one hook to the next. */
export interface AuthorizedCall {
  /** URL of the service that authorised it. */
  readonly service: string;
  readonly execution: Execution;
  /** The outcome that is to be reported, once the tool has run. */
  readonly outcome?: Outcome;
  /** Id of the process that reports it. */
  readonly reporter?: number;
}

/** A remembered use, with its file. */
export interface KeptCall extends AuthorizedCall {
  readonly path: string;
}

const SUFFIX = '.json';
/** The name of a file that a hook has claimed, to add the outcome. */
const CLAIMED = /\.json\.\d+\.json$/;
/** Milliseconds after which a tool that has not run never will, because its user refused it. */
const MAX_APPROVAL_MS = 30 * 24 * 60 * 60_000;
/** Maximum time in milliseconds that a hook takes. */
const MAX_HOOK_MS = 1_000_000;

/** Remembers which execution authorised a use of a tool, for the hook that runs after the tool. */
export function keepAuthorized(call: string, service: string, execution: Execution): void {
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  for (const path of paths()) {
    if (age(path) > MAX_APPROVAL_MS && readCall(path)?.outcome === undefined) rmSync(path, { force: true });
  }
  write(join(folder(), `${digestOf(call)}.${digestOf(execution.id)}${SUFFIX}`), { service, execution });
}

/**
 * Claims the remembered use of a tool, and adds the outcome. Returns null if no hook here has authorised the use, or
 * its outcome is known. Equal uses without ids are interchangeable, because the same request authorised each.
 */
export function keepOutcome(call: string, outcome: Outcome): KeptCall | null {
  for (const path of paths().filter((file) => basename(file).startsWith(digestOf(call)) && !CLAIMED.test(file))) {
    const call = readCall(path);
    if (call === null || call.outcome !== undefined) continue;
    // The file keeps the new name: under the old one, a hook that has read it before would claim it a second time.
    const claimedPath = `${path}.${process.pid}${SUFFIX}`;
    if (!isRenamed(path, claimedPath)) continue;
    const own = { ...call, outcome, reporter: process.pid };
    write(claimedPath, own);
    return { path: claimedPath, ...own };
  }
  return null;
}

/** True if this hook could rename the file; false if another hook was faster. */
function isRenamed(path: string, to: string): boolean {
  try {
    renameSync(path, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Finds other uses of the same agent at the same service that have run and could not be reported so far. */
export function unreportedCalls({ service, execution: { agentId } }: KeptCall): KeptCall[] {
  return paths().flatMap((path) => {
    const call = readCall(path);
    if (call?.outcome === undefined || call.service !== service || call.execution.agentId !== agentId) return [];
    const isBeingReported = age(path) < MAX_HOOK_MS && isRunning(call.reporter);
    return isBeingReported ? [] : [{ path, ...call }];
  });
}

export function forget({ path }: KeptCall): void {
  rmSync(path, { force: true });
}

/** Reads a remembered use; null if another hook has removed it, or a crash of the machine has cut it short. */
function readCall(path: string): AuthorizedCall | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as AuthorizedCall;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Replaces the file in one step: other hooks read it at the same time, and a full disk must not destroy it. */
function write(path: string, call: AuthorizedCall): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(call), { mode: 0o600 });
  renameSync(draft, path);
}

/** Returns the age of a file in milliseconds. */
function age(path: string): number {
  const modifiedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return modifiedMs === undefined ? 0 : Date.now() - modifiedMs;
}

function isRunning(reporter: number | undefined): boolean {
  try {
    return reporter !== undefined && process.kill(reporter, 0);
  } catch {
    // The process has ended, or belongs to another user.
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
