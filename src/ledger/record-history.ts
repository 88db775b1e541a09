import { Injectable } from '@nestjs/common';
import { invalidField } from '../core/errors/domain-error';
import { LedgerService } from './ledger.service';
import { CounterReader } from './reading/counter-reader';
import { PastRecords } from './reading/past-records';
import { RecordReader } from './reading/record-reader';
import type { ColumnOf, GovernedRow, RecordKind } from './record-kind';
import type { Viewer } from './records/visibility';

/** After the entry with this sequence, or at this time: ISO 8601 in UTC with milliseconds. */
export type Moment = number | string;

/** Reads records as they are now, or as they were at a moment. */
@Injectable()
export class RecordHistory {
  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly past: PastRecords,
    private readonly counters: CounterReader,
  ) {}

  /** ISO 8601: the time that the next entry would carry. */
  get now(): string {
    return this.ledger.now;
  }

  /** @param asOf undefined: now. @throws VALIDATION_ERROR for a moment in the future. */
  find<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    id: string,
    asOf: Moment | undefined,
    viewer?: Viewer,
  ): Promise<Row | undefined> {
    // Most reads are of now: they cost no promise here.
    return asOf === undefined ? this.records.find(kind, id, viewer) : this.findPast(kind, id, asOf, viewer);
  }

  /** By a unique key. Such keys never change, so the current record tells which one it is. @throws VALIDATION_ERROR */
  async findBy<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    key: Readonly<Partial<Record<ColumnOf<Row>, string>>>,
    asOf: Moment | undefined,
  ): Promise<Row | undefined> {
    const sequence = asOf === undefined ? undefined : await this.sequenceAt(asOf);
    const record = await this.records.findBy(kind, key);
    return record === undefined || sequence === undefined ? record : this.past.find(kind, record.id, sequence);
  }

  /** As they are now, by the column of a unique key. */
  allAmong<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    column: ColumnOf<Row>,
    values: readonly string[],
  ): Promise<Row[]> {
    return this.records.allAmong(
      kind,
      [column],
      values.map((value) => [value]),
    );
  }

  /**
   * The sequence of the last entry at the moment; 0 before the first.
   * @throws VALIDATION_ERROR for a moment in the future.
   * @param field under which the client sent it.
   */
  async sequenceAt(asOf: Moment, field = 'query.asOf'): Promise<number> {
    if (typeof asOf === 'string') {
      if (asOf > this.ledger.now) throw invalidField(field, 'must not be in the future');
      return this.past.lastAt(asOf);
    }
    const head = await this.counters.headSequence();
    if (asOf < 1 || asOf > head) throw invalidField(field, 'must be a sequence from 1 to that of the last entry');
    return asOf;
  }

  /**
   * The same for what several records decide together: the last entry of the change that the moment falls into. All of
   * it takes effect at once, so in between there never was anything to read. With the time of the moment.
   * @param member of the details of all its entries: a text that says what it led to.
   */
  async wholeChangeAt(
    asOf: Moment,
    member: string,
    field: string,
  ): Promise<{ readonly sequence: number; readonly time: string }> {
    const sequence = await this.sequenceAt(asOf, field);
    // The entries of a change share their time.
    return typeof asOf === 'string' ? { sequence, time: asOf } : this.past.lastWithSame(member, sequence);
  }

  private async findPast<Row extends GovernedRow>(
    kind: RecordKind<Row>,
    id: string,
    asOf: Moment,
    viewer: Viewer | undefined,
  ): Promise<Row | undefined> {
    return this.past.find(kind, id, await this.sequenceAt(asOf), viewer);
  }
}
