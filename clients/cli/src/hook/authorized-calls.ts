import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Execution } from '../../../typescript/src/index.js';

/** Remembers, from the hook before the use of a tool to the hook after it, which execution authorised it. */
export function keepAuthorized(call: string, execution: Execution): void {
  const path = pathOf(call);
  mkdirSync(folder(), { recursive: true, mode: 0o700 });
  writeFileSync(path, JSON.stringify(execution), { mode: 0o600 });
}

/** That execution; null if the use was not authorised here, or is reported already. */
export function authorizedBefore(call: string): Execution | null {
  try {
    return JSON.parse(readFileSync(pathOf(call), 'utf8')) as Execution;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export function forgetAuthorized(call: string): void {
  rmSync(pathOf(call), { force: true });
}

function pathOf(call: string): string {
  return join(folder(), `${createHash('sha256').update(call).digest('hex')}.json`);
}

function folder(): string {
  const { XDG_STATE_HOME: state, LOCALAPPDATA: local } = process.env;
  return join(state ?? local ?? join(homedir(), '.local', 'state'), 'agent-governance', 'hooks');
}
