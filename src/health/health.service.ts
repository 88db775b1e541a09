import { Injectable, Logger } from '@nestjs/common';
import { CounterReader } from '../ledger/counter-reader';
import { LedgerService } from '../ledger/ledger.service';

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
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), PATIENCE);
    });
    const answer = this.counters.read(['entities']).then(
      () => true,
      (error: unknown) => {
        this.logger.error(`The database does not answer: ${String(error)}`);
        return false;
      },
    );
    return Promise.race([answer, timeout]).finally(() => clearTimeout(timer));
  }
}
