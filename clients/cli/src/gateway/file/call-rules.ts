import type { FilePath } from './document.js';
import type { FaultList } from './fault-list.js';
import type { CallInput } from './gateway-input.js';
import { secretPointerFault } from '../../service-rules/secret-pointers.js';
import { timeSpan } from '../../time-span.js';

/** The rules for the calls of an upstream or of a route. */
export interface CallRules {
  readonly secret: readonly string[];
  readonly holdMs: number;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
}

const SECOND = 1_000;
const MAX_HOLD_MS = 60 * SECOND;
const MAX_TIMEOUT_MS = 3_600 * SECOND;
const MAX_SECRETS = 10;

export const HTTP_CALLS: CallRules = { secret: [], holdMs: 0, timeoutMs: 30 * SECOND, maxBodyBytes: 1_048_576 };
export const MCP_CALLS: CallRules = { ...HTTP_CALLS, holdMs: 45 * SECOND };

/**
 * Returns the rules of the input, and inherited ones where the input has none. Secrets are added to the inherited ones.
 */
export function readCallRules(
  { secret = [], hold, timeout, maxBody }: CallInput,
  path: FilePath,
  inherited: CallRules,
  faults: FaultList,
): CallRules {
  secret.forEach((pointer, index) => {
    const fault = pointer === undefined ? undefined : secretPointerFault(pointer);
    if (fault !== undefined) faults.add([...path, 'secret', index], fault);
  });
  const valid = secret.filter((pointer) => pointer !== undefined && secretPointerFault(pointer) === undefined);
  const pointers = [...new Set([...inherited.secret, ...valid])].filter((pointer) => pointer !== undefined);
  if (pointers.length > MAX_SECRETS)
    faults.add([...path, 'secret'], `must have at most ${MAX_SECRETS} pointers, with those of the upstream`);
  return {
    secret: pointers,
    holdMs: milliseconds(hold, { path: [...path, 'hold'], min: 0, max: MAX_HOLD_MS, faults }) ?? inherited.holdMs,
    timeoutMs:
      milliseconds(timeout, { path: [...path, 'timeout'], min: SECOND, max: MAX_TIMEOUT_MS, faults }) ??
      inherited.timeoutMs,
    maxBodyBytes: maxBody ?? inherited.maxBodyBytes,
  };
}

interface SpanBounds {
  readonly path: FilePath;
  readonly min: number;
  readonly max: number;
  readonly faults: FaultList;
}

function milliseconds(text: string | undefined, { path, min, max, faults }: SpanBounds): number | null {
  if (text === undefined) return null;
  const span = parseSpan(text);
  if (span !== undefined && span >= min && span <= max) return span;
  return faults.reject(path, `must be an ISO 8601 duration from PT${min / SECOND}S to PT${max / SECOND}S`);
}

function parseSpan(text: string): number | undefined {
  try {
    return timeSpan(text);
  } catch {
    return undefined;
  }
}
