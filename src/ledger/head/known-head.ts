import { DatabaseFault } from '../../database/database-fault';
import { headFault } from './head-fault';
import type { LedgerPosition } from '../chain/ledger-position';

/** The end of the chain as far as this process has written or read it. A head record must not contradict it. */
export class KnownHead {
  private known: LedgerPosition | null = null;
  private last: LedgerPosition | null = null;

  /** Null before the start. */
  get position(): LedgerPosition | null {
    return this.last;
  }

  /** The last position that was not damaged. */
  get sound(): LedgerPosition | null {
    return this.known;
  }

  /** As found at start. A damaged head does not prevent a start: verification will report it. */
  found(head: LedgerPosition): void {
    this.last = head;
    this.known = headFault(head, null) === null ? head : null;
  }

  /** A batch has moved the head here. */
  moved(head: LedgerPosition): void {
    this.last = head;
    this.known = head;
  }

  /** Reads the head record and checks it against what was known when the read began. */
  async read(ask: () => Promise<LedgerPosition | undefined>): Promise<LedgerPosition> {
    const { known } = this;
    const head = await ask();
    const fault = isAsLeft(head, known) ? null : headFault(head, known);
    if (head !== undefined && fault === null) return head;
    throw new DatabaseFault('unavailable', 'HEAD', `The head record of the ledger ${fault ?? 'is gone'}.`);
  }
}

/** The usual case: what this process wrote last is sound, and need not be parsed again. */
function isAsLeft(head: LedgerPosition | undefined, known: LedgerPosition | null): boolean {
  if (head === undefined || known === null) return false;
  return (
    head.sequence === known.sequence &&
    head.hash === known.hash &&
    head.timestamp === known.timestamp &&
    head.lastUlid === known.lastUlid &&
    head.effectSequence === known.effectSequence &&
    head.frontier === known.frontier &&
    head.schemaVersion === known.schemaVersion
  );
}
