import type { Execution } from 'agent-governance-client';

/** The value of an interrupt for an approval. */
export interface ApprovalQuestion {
  readonly message: string;
  /** Id of the decision; null if another middleware interrupted. */
  readonly decisionId: string | null;
}

/** A call whose graph was interrupted. */
export interface PausedCall {
  /** The interrupts for its approval, in their order. */
  readonly questions: readonly ApprovalQuestion[];
  /** The execution under which its tool had begun, if the tool itself interrupted the graph. */
  readonly execution: Execution | null;
}

/** Maximum number of paused calls, since a graph need not be resumed. */
const MAX_CALLS = 1_000;

/** The interrupted calls of a middleware, by their keys. Each continues once. */
export class PausedCalls {
  private readonly calls = new Map<string, PausedCall>();

  find(key: string): PausedCall | null {
    return this.calls.get(key) ?? null;
  }

  keep(key: string, call: PausedCall): void {
    this.calls.delete(key);
    this.calls.set(key, call);
    const [oldest] = this.calls.keys();
    if (this.calls.size > MAX_CALLS && oldest !== undefined) this.calls.delete(oldest);
  }

  forget(key: string): void {
    this.calls.delete(key);
  }
}
