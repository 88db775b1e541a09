import { type FactoryProvider, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SYSTEM_CALLER } from './kinds/caller';
import type { ServiceTransaction } from './commands/ledger-transaction';
import { LedgerService } from './ledger.service';
import { byId } from './kinds/lookup';
import { RecordReader } from './reading/record-reader';
import { PeriodicTask } from '../core/lifecycle/periodic-task';
import type { AnyRecordKind, GovernedRow, RecordKind } from './kinds/record-kind';

/** Average polling interval in milliseconds: a record is settled within a second of its time. */
const INTERVAL_MS = 200;
/** Most records settled together. */
const CHUNK = 100;

/** A kind of record, and the settlement of one that has become due. */
export interface DueRecords<Row extends GovernedRow> {
  readonly kind: RecordKind<Row>;
  /** Settles a record; does nothing if it has changed in the meantime. */
  readonly settle: (transaction: ServiceTransaction, row: Row) => void | Promise<void>;
}

/** Returns the ids of the records that are due at a time, in chunks. */
type DueIds = (now: string) => Iterable<readonly string[]> | AsyncIterable<readonly string[]>;

/**
 * Returns a provider that settles records of one kind while the service runs. @param logName name under which faults
 * are logged
 */
export function settledWhenDue<Row extends GovernedRow>(
  records: DueRecords<Row>,
  logName: string,
): FactoryProvider<DueSettlement<Row>> {
  return {
    provide: dueSettlementOf(records.kind),
    inject: [LedgerService, RecordReader],
    useFactory: (ledger: LedgerService, reader: RecordReader) =>
      new DueSettlement(ledger, records, (now) => reader.due(records.kind, now, CHUNK), logName),
  };
}

/** The injection token of the provider. */
export function dueSettlementOf({ subjectType }: AnyRecordKind): string {
  return `DueSettlement of ${subjectType}`;
}

/** Settles records that are due, so that they are changed on disk and do not merely appear so to readers. */
export class DueSettlement<Row extends GovernedRow> implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly repeated: PeriodicTask;

  constructor(
    private readonly ledger: LedgerService,
    private readonly records: DueRecords<Row>,
    private readonly due: DueIds,
    logName: string,
    interval = INTERVAL_MS,
  ) {
    const logger = new Logger(logName);
    this.repeated = new PeriodicTask(
      interval,
      () => this.settleAll(),
      (error) => logger.error(`Expired records are not settled yet: ${String(error)}`),
    );
  }

  onApplicationBootstrap(): void {
    this.repeated.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.repeated.stop();
  }

  /** Settles chunk after chunk, so that many records that expire at once do not wait for later polls. */
  private async settleAll(): Promise<void> {
    const { now, isHealthy } = this.ledger;
    if (!isHealthy) return;
    for await (const ids of this.due(now)) {
      await Promise.all(ids.map((id) => this.settle(id)));
      if (this.repeated.isStopping) return;
    }
  }

  private settle(id: string): Promise<void> {
    const { kind, settle } = this.records;
    return this.ledger.withLookups(byId(kind, id)).write(SYSTEM_CALLER, async (transaction) => {
      const row = await transaction.find(kind, id);
      if (row !== undefined) await settle(transaction, row);
    });
  }
}
