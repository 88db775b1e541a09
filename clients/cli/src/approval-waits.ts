import type { Execution } from '../../typescript/src/index.js';

/**
 * Maximum number of remembered executions, as many as may wait for one agent by default; the oldest is forgotten first.
 */
const MAX_PROMISES = 100;

/** The calls that wait for one execution. */
interface WaitingCalls {
  count: number;
  /** True if one of the calls created the request; otherwise another process may also wait for it. */
  hasOpened: boolean;
}

/** One call that waits for an execution. */
export interface ApprovalWait {
  readonly execution: Execution;
  /** True if this call has created the request for approval. */
  readonly isFirst: boolean;
  /** Fires when the client has gone. */
  readonly signal: AbortSignal;
  readonly wait: () => Promise<Execution>;
  /** Cancels the request for approval. */
  readonly withdraw: () => Promise<void>;
}

/**
 * Keeps track of the calls of this process that wait for approvals. When the last call for an execution is cancelled,
 * the request for approval is withdrawn if one of the calls created it: nobody waits any longer, so reviewers should
 * not see it.
 */
export class ApprovalWaits {
  private readonly calls = new Map<string, WaitingCalls>();
  private readonly promises = new Set<string>();

  constructor(private readonly maxPromises = MAX_PROMISES) {}

  /** Returns the execution once it is decided, or when the call has waited long enough. @throws errors of `wait` */
  async during({ execution: { id }, isFirst, signal, wait, withdraw }: ApprovalWait): Promise<Execution> {
    const calls = this.calls.get(id) ?? { count: 0, hasOpened: false };
    calls.count += 1;
    calls.hasOpened ||= isFirst;
    this.calls.set(id, calls);
    try {
      return await wait();
    } catch (error) {
      const isLast = calls.count === 1 && calls.hasOpened && !this.promises.has(id);
      if (signal.aborted && isLast) await withdraw();
      throw error;
    } finally {
      calls.count -= 1;
      if (calls.count === 0) this.calls.delete(id);
    }
  }

  /**
   * Keeps the request for approval when its calls end: the client was told that a repeated call succeeds after the
   * approval.
   */
  promise(id: string): void {
    // A client need not call again, so the set must have a bound.
    this.promises.delete(id);
    this.promises.add(id);
    const [oldest] = this.promises;
    if (this.promises.size > this.maxPromises && oldest !== undefined) this.promises.delete(oldest);
  }
}
