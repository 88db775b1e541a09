import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { unavailable } from '../errors/domain-error';
import type { Caller } from './caller';
import { LedgerService } from './ledger.service';
import { SELECT_CREATED_AT, hasExpired } from './idempotency/idempotency-store';

/** For requests that write nothing, but must still be answered only once when they carry an idempotency key. */
@Injectable()
export class AnswersOnce {
  /** @internal */
  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
  ) {}

  /**
   * Answers with the result of `work`; with an idempotency key, with the result of its first run. An error is not kept.
   * @throws CONFLICT when the key was used for another request; whatever `work` throws.
   */
  async answer<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> {
    if (caller.idempotency === undefined) return work();
    const isKept = await this.isKept(caller.idempotency.nextId);
    const found = isKept ? null : { result: await work() };
    // Of two requests that ran concurrently, the first to get here decides the answer of both.
    return this.ledger.write(caller, async () => {
      if (found === null) throw unavailable('The answer that was kept for this key has just expired.');
      return found.result;
    });
  }

  private async isKept(id: string): Promise<boolean> {
    const [kept] = await this.database.points.all<{ found: string }>(SELECT_CREATED_AT, [id]);
    return kept !== undefined && !hasExpired(kept.found, this.ledger.now);
  }
}
