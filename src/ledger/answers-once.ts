import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../database/database';
import { conflict, unavailable } from '../errors/domain-error';
import { admitted, type Caller, withKey } from './caller';
import { SELECT_CREATED_AT, hasExpired } from './idempotency/idempotency-store';
import { KeyTurns } from './idempotency/key-turns';
import { LedgerService } from './ledger.service';
import type { LedgerTransaction } from './ledger-transaction';

/** Milliseconds between looks for the answer of another process. */
const LOOK = 100;

const INTERRUPTED =
  'The request that first had this Idempotency-Key was interrupted: it may have taken effect. Repeat it under another key.';

/** Work with an effect outside the ledger. */
export interface OutsideWork<Admitted, Result> {
  /** Finds what the work needs, or throws. It may run more than once, like a command, and must write nothing. */
  readonly admit: (transaction: LedgerTransaction) => Promise<Admitted>;
  /** Begins as soon as the ledger has looked at the caller's key. */
  readonly work: (admitted: Admitted) => Promise<Result>;
  /** Milliseconds that the work takes at most. */
  readonly longest: number;
}

/** Kept under a key of its own before the work begins. */
interface Beginning<Admitted> {
  readonly processId: string;
  /** ISO 8601. */
  readonly at: string;
  /** JSON has no functions: it is missing if somebody else has begun. */
  readonly admitted?: () => Admitted;
}

/** For requests that write nothing, but must still be answered only once when they carry an idempotency key. */
@Injectable()
export class AnswersOnce implements OnModuleDestroy {
  private readonly turns = new KeyTurns();
  private isStopping = false;

  /** @internal */
  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
  ) {}

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  /**
   * Answers with the result of `work`; with an idempotency key, with the result of its first run. An error is not kept.
   * The work must have no effect: of several processes that are asked at once, each runs it.
   * @throws CONFLICT when the key was used for another request; whatever `work` throws.
   */
  async answer<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> {
    if (caller.idempotency === undefined) return work();
    return this.inTurn(caller, caller.idempotency.next, async () => {
      const result = await work();
      return this.ledger.write(caller, async () => result);
    });
  }

  /**
   * The same for work that has an effect: with an idempotency key it begins only once, whatever crashes.
   * @throws UNAUTHORIZED or PERMISSION_DENIED for a caller that is not admitted any more; CONFLICT also when the work
   * began and was interrupted; whatever `admit` and `work` throw.
   */
  async perform<Admitted, Result>(caller: Caller, outside: OutsideWork<Admitted, Result>): Promise<Result> {
    const { admit, work, longest } = outside;
    const { idempotency } = caller;
    if (idempotency === undefined) return work(await this.ledger.write(caller, admit));
    const { next, beginning } = idempotency;
    return this.inTurn(caller, next, async () => {
      const begun = await this.ledger.write(withKey(caller, beginning), (transaction) =>
        this.begin(transaction, admit),
      );
      if (begun.admitted === undefined) return this.answerOfOther(caller, next.id, begun, longest);
      const result = await work(begun.admitted());
      // What was done is answered, even if the caller has ended meanwhile.
      return this.ledger.write(withKey(admitted(caller), idempotency), async () => result);
    });
  }

  private async begin<Admitted>(
    transaction: LedgerTransaction,
    admit: OutsideWork<Admitted, unknown>['admit'],
  ): Promise<Beginning<Admitted>> {
    const found = await admit(transaction);
    return { processId: this.database.processId, at: transaction.now, admitted: () => found };
  }

  /** In this process, the second request with a key waits until the first has an answer, or none. */
  private inTurn<Result>(
    caller: Caller,
    next: Parameters<KeyTurns['take']>[0],
    work: () => Promise<Result>,
  ): Promise<Result> {
    return this.turns.take(next, async () => ((await this.isKept(next.id)) ? this.kept(caller) : work()));
  }

  private kept<Result>(caller: Caller): Promise<Result> {
    return this.ledger.write<Result>(caller, async () => {
      throw unavailable('The answer that was kept for this key has just expired.');
    });
  }

  /** Waits for the process that has begun. */
  private async answerOfOther<Result>(
    caller: Caller,
    id: string,
    begun: Beginning<unknown>,
    longest: number,
  ): Promise<Result> {
    for (;;) {
      // In this order, so that no answer is missed.
      const isOver = await this.isOver(begun, longest);
      if (await this.isKept(id)) return this.kept(caller);
      if (isOver) throw conflict(INTERRUPTED);
      if (this.isStopping) throw unavailable('The service is stopping.');
      await sleep(LOOK);
    }
  }

  /** One that this process has begun is over: its turn is. */
  private async isOver({ processId, at }: Beginning<unknown>, longest: number): Promise<boolean> {
    if (processId === this.database.processId) return true;
    if (Date.parse(this.ledger.now) - Date.parse(at) > longest) return true;
    return (await this.database.endedAmong([processId])).length > 0;
  }

  private async isKept(id: string): Promise<boolean> {
    const [kept] = await this.database.points.all<{ found: string }>(SELECT_CREATED_AT, [id]);
    return kept !== undefined && !hasExpired(kept.found, this.ledger.now);
  }
}
