import type { FactoryProvider } from '@nestjs/common';
import { addDuration, subtractDuration } from '../../core/values/duration';
import { type DueRecords, DueSettlement } from '../../ledger/due-settlement';
import { LedgerService } from '../../ledger/ledger.service';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Condition } from '../../ledger/kinds/record-page';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { type Execution, EXECUTION, noteOf } from './execution.entity';

/** Time for which a gateway may report an execution. */
const MAX_REPORT_TIME = 'P1D';
const CHUNK = 100;
/** Average milliseconds between checks, which need not be frequent: the executions are a day old. */
const INTERVAL_MS = 10_000;
const FAILURE =
  'Its gateway did not report the outcome within a day: the gateway may have ended before it got the authorisation, or lost its journal.';

type ReportedParts = Pick<Execution, 'outcome' | 'via' | 'createdAt' | 'approvedUntil'>;

/** True if a day has passed since the last moment at which the execution can have been authorised. */
function isUnreported({ outcome, via, createdAt, approvedUntil }: ReportedParts, now: string): boolean {
  return outcome === 'authorized' && via !== null && addDuration(MAX_REPORT_TIME, approvedUntil ?? createdAt) <= now;
}

/**
 * Fails executions that no gateway will report any more, so that none stays `authorized` for ever. A gateway that ends
 * before it receives the authorisation does not know of the execution.
 */
const UNREPORTED: DueRecords<Execution> = {
  kind: EXECUTION,
  settle: (transaction, execution) => {
    const { now } = transaction;
    if (!isUnreported(execution, now)) return;
    const reason = 'not_reported';
    transaction.update(
      EXECUTION,
      { ...execution, outcome: 'failed', reason, failureReason: FAILURE, completedAt: now },
      { ...noteOf(execution, 'execution.completed'), outcome: 'failed', reason, bySystem: true },
    );
  },
};

async function* unreportedIds(reader: RecordReader, now: string): AsyncGenerator<string[]> {
  const conditions: Condition[] = [
    { column: 'outcome', comparison: 'equals', value: 'authorized' },
    { column: 'via', comparison: 'present', value: null },
    { column: 'createdAt', comparison: 'atMost', value: subtractDuration(MAX_REPORT_TIME, now) },
  ];
  const columns = ['outcome', 'via', 'createdAt', 'approvedUntil'] as const;
  const range = { conditions, order: 'asc', position: null, atOnce: CHUNK } as const;
  for await (const rows of reader.columns(EXECUTION, columns, range, SYSTEM_CALLER))
    yield rows.filter((row) => isUnreported(row, now)).map(({ id }) => id);
}

export const UNREPORTED_SETTLEMENT: FactoryProvider<DueSettlement<Execution>> = {
  provide: 'DueSettlement of unreported executions',
  inject: [LedgerService, RecordReader],
  useFactory: (ledger: LedgerService, reader: RecordReader) =>
    new DueSettlement(ledger, UNREPORTED, (now) => unreportedIds(reader, now), 'Executions', INTERVAL_MS),
};
