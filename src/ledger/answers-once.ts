import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { unavailable } from '../errors/domain-error';
import type { Caller } from './caller';
import { LedgerService } from './ledger.service';
import { SELECT_CREATED_AT, hasExpired } from './idempotency/idempotency-store';

/** For requests that write nothing, but are answered once all the same when they carry an idempotency key. */
@Injectable()
export class AnswersOnce {
  /** @internal */
  constructor(
    private readonly ledger: LedgerService,
    private readonly database: Database,
  ) {}

  /**
   * Answers what the work comes to; with an idempotency key, what it came to first. What it throws is not kept.
   * @throws CONFLICT when the key was used for another request; what the work throws.
   */
  async answer<Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> {
    if (caller.idempotency === undefined) return work();
    const isKept = await this.isKept(caller.idempotency.nextId);
    const found = isKept ? null : { result: await work() };
    // Of two that worked at once, the first to come here is the one whose answer is given.
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
