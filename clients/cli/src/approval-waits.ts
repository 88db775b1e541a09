import type { Execution } from '../../typescript/src/index.js';

/** As many requests as may wait for one agent by default: of more, the oldest is forgotten. */
const MAX_PROMISES = 100;

/** The calls that wait for one execution. */
interface WaitingCalls {
  count: number;
  /** Else somebody else waits for it, whom this process may not know. */
  hasOpened: boolean;
}

/** One call that waits for an execution. */
export interface ApprovalWait {
  readonly execution: Execution;
  /** True if it is this call that has asked for the approval. */
  readonly isFirst: boolean;
  /** Fires when the client has gone. */
  readonly signal: AbortSignal;
  readonly wait: () => Promise<Execution>;
  /** Cancels the request for approval. */
  readonly withdraw: () => Promise<void>;
}

/**
 * The calls of this process that wait for approvals. The last call for an execution that is cancelled withdraws it, if one of
 * them has opened it: nobody waits any longer, so nobody should be asked to approve it.
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

  /** Its client has had the answer that its call goes through once it is approved, so it is not withdrawn. */
  promise(id: string): void {
    // A client need not call again, so they must not add up.
    this.promises.delete(id);
    this.promises.add(id);
    const [oldest] = this.promises;
    if (this.promises.size > this.maxPromises && oldest !== undefined) this.promises.delete(oldest);
  }
}
