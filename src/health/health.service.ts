import { Injectable, Logger } from '@nestjs/common';
import { CounterReader } from '../ledger/counter-reader';
import { LedgerService } from '../ledger/ledger.service';
import { within } from '../time/within';

/** Milliseconds within which the database has to answer. */
const PATIENCE = 2_000;

@Injectable()
export class HealthService {
  private readonly logger = new Logger('Health');

  constructor(
    private readonly ledger: LedgerService,
    private readonly counters: CounterReader,
  ) {}

  /** True when the database answers, is where it was, and takes commits. */
  async isHealthy(): Promise<boolean> {
    return this.ledger.isHealthy && (await this.databaseAnswers());
  }

  private async databaseAnswers(): Promise<boolean> {
    const answer = this.counters.read(['entities']).then(
      () => true,
      (error: unknown) => {
        this.logger.error(`The database does not answer: ${String(error)}`);
        return false;
      },
    );
    return within(answer, PATIENCE, false);
  }
}
