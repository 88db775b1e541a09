import { Injectable, Logger } from '@nestjs/common';
import { LedgerService } from '../../ledger/ledger.service';
import { within } from '../../core/concurrency/within';

/** Milliseconds within which the database has to answer. */
const PATIENCE = 2_000;

@Injectable()
export class HealthService {
  private readonly logger = new Logger('Health');

  constructor(private readonly ledger: LedgerService) {}

  /** True if a write would succeed, as far as can be known without one. */
  async isHealthy(): Promise<boolean> {
    return this.ledger.isHealthy && (await this.databaseAnswers());
  }

  private async databaseAnswers(): Promise<boolean> {
    const answer = this.ledger.check().then(
      () => true,
      (error: unknown) => {
        this.logger.error(`The database does not answer as it should: ${String(error)}`);
        return false;
      },
    );
    return within(answer, PATIENCE, false);
  }
}
