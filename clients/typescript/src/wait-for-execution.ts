import type { Execution } from './api-types.js';
import { GovernanceError, unexpectedAnswer } from './governance-error.js';
import { OutcomeUnknownError } from './guard-errors.js';
import { sleep } from './sleep.js';
import { isTemporary, type Transport } from './transport.js';

/** Seconds for which the service holds one request: less than the 60 after which many proxies cut it. */
const MAX_HOLD_SECONDS = 50;
/**
 * Milliseconds between two requests if the service does not hold them, because too many requests wait already, or the
 * service is away.
 */
const PAUSE = 1_500;

/**
 * Waits until the execution no longer waits for approval, at most `wait` seconds, and returns it.
 * @throws GovernanceError, also where the service is away when the time is over; the reason of `signal` once that is
 *   aborted.
 */
export async function decided(
  transport: Transport,
  request: Execution,
  wait: number,
  signal: AbortSignal | undefined,
): Promise<Execution> {
  const end = performance.now() + wait * 1_000;
  let execution = request;
  let away: GovernanceError | null = null;
  for (
    let remainingSeconds = wait;
    execution.outcome === 'pending_approval' && remainingSeconds > 0;
    remainingSeconds = (end - performance.now()) / 1_000
  ) {
    try {
      // The request has no patience of its own, so that a repeat waits for the remaining time only.
      execution = await lookUp(transport, execution, {
        wait: Math.min(Math.ceil(remainingSeconds), MAX_HOLD_SECONDS),
        patience: 0,
        signal,
      });
      away = null;
    } catch (error) {
      if (!(error instanceof GovernanceError && isTemporary(error))) throw error;
      away = error;
    }
    if (execution.outcome === 'pending_approval')
      await sleep(Math.max(0, Math.min(PAUSE, end - performance.now())), signal);
  }
  // If the service is away, it is unknown if the execution is still pending.
  if (away !== null) throw away;
  return execution;
}

/** Waits until the handler that runs the execution has ended. */
export async function settled(transport: Transport, execution: Execution): Promise<Execution> {
  for (let current = execution; ;) {
    current = await lookUp(transport, current, { wait: MAX_HOLD_SECONDS });
    if (current.outcome !== 'running') return current;
    await sleep(PAUSE);
  }
}

/** Outcomes of an execution that is not final. */
const OPEN: ReadonlySet<Execution['outcome']> = new Set([
  ...(['pending_approval', 'approved', 'authorized', 'running'] as const),
]);

/**
 * Waits for the outcome of an execution that another caller carries out.
 * @throws OutcomeUnknownError where that is not reported within `wait` seconds; the reason of `signal` once that is
 * aborted.
 */
export async function waitForReport(
  transport: Transport,
  execution: Execution,
  wait: number,
  signal: AbortSignal | undefined,
): Promise<Execution> {
  const end = performance.now() + wait * 1_000;
  for (;;) {
    const current = await lookUp(transport, execution, { wait: 1, signal });
    if (!OPEN.has(current.outcome)) return current;
    if (performance.now() >= end) throw new OutcomeUnknownError(notReported(current));
    await sleep(PAUSE, signal);
  }
}

function notReported({ id, outcome }: Execution): GovernanceError {
  const message = `Another call runs the execution ${id}; it has not reported the outcome yet.`;
  return new GovernanceError(message, { code: `EXECUTION_${outcome.toUpperCase()}`, status: null, reason: outcome });
}

interface LookUpOptions {
  readonly wait: number;
  readonly patience?: number;
  readonly signal?: AbortSignal | undefined;
}

async function lookUp(transport: Transport, { id }: Execution, { wait, ...query }: LookUpOptions): Promise<Execution> {
  const path = `/api/v1/executions/${id}?wait=${wait}`;
  return executionIn(await transport.json({ method: 'get', path, hold: 1_000 * wait, ...query }));
}

/**
 * Returns the execution of an answer. A proxy may have answered instead of the service. @throws GovernanceError for an
 * answer that is not an execution.
 */
export function executionIn(answer: unknown): Execution {
  const { id, outcome } = (answer ?? {}) as Partial<Record<string, unknown>>;
  if (typeof id === 'string' && typeof outcome === 'string') return answer as Execution;
  throw unexpectedAnswer('it is not an execution.', null);
}
