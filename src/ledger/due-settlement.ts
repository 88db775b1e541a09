import { type FactoryProvider, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { SYSTEM_CALLER } from './caller';
import type { LedgerTransaction } from './ledger-transaction';
import { LedgerService } from './ledger.service';
import { byId } from './lookup';
import { RecordReader } from './reading/record-reader';
import { Repeated } from '../shared/repeated';
import type { AnyRecordKind, GovernedRow, RecordKind } from './record-kind';

/** Milliseconds between looks on average: a record is settled within a second of its time. */
const INTERVAL = 200;
/** Records that are settled together at most; fewer where they are large. */
const PIECE = 100;

/** Records of one kind, and what is done about one whose time has come. */
export interface DueRecords<Row extends GovernedRow> {
  readonly kind: RecordKind<Row>;
  /** Does nothing when something else came first. */
  readonly settle: (transaction: LedgerTransaction, row: Row) => Promise<void>;
}

/** A provider that settles records of one kind while the service runs. @param logName whose lines its faults are. */
export function settledWhenDue<Row extends GovernedRow>(
  records: DueRecords<Row>,
  logName: string,
): FactoryProvider<DueSettlement<Row>> {
  return {
    provide: dueSettlementOf(records.kind),
    inject: [LedgerService, RecordReader],
    useFactory: (ledger: LedgerService, reader: RecordReader) =>
      new DueSettlement(ledger, reader, records, new Logger(logName)),
  };
}

/** Names the provider. */
export function dueSettlementOf({ subjectType }: AnyRecordKind): string {
  return `DueSettlement of ${subjectType}`;
}

/** Settles records whose time is over, so that they do not merely look so to who reads them. */
export class DueSettlement<Row extends GovernedRow> implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly repeated: Repeated;

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly records: DueRecords<Row>,
    logger: Logger,
  ) {
    this.repeated = new Repeated(
      INTERVAL,
      () => this.settleAll(),
      (error) => logger.error(`What has expired is not settled yet: ${String(error)}`),
    );
  }

  onApplicationBootstrap(): void {
    this.repeated.begin();
  }

  onModuleDestroy(): Promise<void> {
    return this.repeated.stop();
  }

  /** Piece after piece, so that a crowd that expires at one moment does not wait for later looks. */
  private async settleAll(): Promise<void> {
    const { now, isHealthy } = this.ledger;
    if (!isHealthy) return;
    for await (const ids of this.reader.due(this.records.kind, now, PIECE)) {
      await Promise.all(ids.map((id) => this.settle(id)));
      if (this.repeated.isStopping) return;
    }
  }

  private settle(id: string): Promise<void> {
    const { kind, settle } = this.records;
    return this.ledger.prefetching(byId(kind, id)).write(SYSTEM_CALLER, async (transaction) => {
      const row = await transaction.find(kind, id);
      if (row !== undefined) await settle(transaction, row);
    });
  }
}
