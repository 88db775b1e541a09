import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { DatabaseFault } from '../database/database-fault';
import { quoted } from '../database/dialect';
import { ENTRY_COLUMNS, entryValues } from './entry-columns';
import { ENTRIES_COUNTED_BY, ENTRY_COUNTER } from './entry-counters';
import type { StoredEntry } from './hash-chain';
import type { PageSource } from './page-query';
import { RecordReader } from './record-reader';
import type { Page, PageRequest } from './record-page';

const COLUMNS = ENTRY_COLUMNS.map(({ name }) => name);
const SELECT = `SELECT ${COLUMNS.map(quoted).join(', ')} FROM "ledger_entries"`;
const SELECT_ENTRY = `${SELECT} WHERE "sequence" = $1`;
const PIECE = 'WHERE "sequence" > $1 AND "sequence" <= $2 ORDER BY "sequence" LIMIT $3';
const SELECT_PIECE = `${SELECT} ${PIECE}`;
const SELECT_PIECE_EXTENT =
  `SELECT count(*) AS "count", max("sequence") AS "last", sum("size") AS "bytes" FROM (SELECT "sequence", ` +
  `octet_length("details") + COALESCE(octet_length("state"), 0) AS "size" FROM "ledger_entries" ${PIECE}) AS piece`;
const SELECT_BEFORE = `SELECT "sequence", "hash" FROM "ledger_entries" WHERE "sequence" < $1 ORDER BY "sequence" DESC LIMIT 1`;
/** Entries of a piece at most, and bytes of what can be long in them. */
const PIECE_ENTRIES = 250;
const PIECE_BYTES = 4_000_000;
const SELECT_EXTENT =
  `SELECT head."sequence", head."hash", last."sequence" AS "lastSequence" ` +
  `FROM (SELECT max("sequence") AS "sequence" FROM "ledger_entries") AS last ` +
  `LEFT JOIN "ledger_head" AS head ON head."id" = 1`;

/** Lists leave the kept state out: it can be large, and an entry read alone has it. */
const LISTED: PageSource = {
  table: 'ledger_entries',
  columns: COLUMNS.filter((name) => name !== 'state'),
  orderColumn: 'sequence',
  timeColumn: 'timestamp',
  counter: ENTRY_COUNTER,
  countedBy: ENTRIES_COUNTED_BY,
  listColumns: [],
  selectiveColumns: ['subjectId', 'entityId'],
  isLedger: true,
};

export type ListedEntry = Omit<StoredEntry, 'state'>;

/** What the head record says of the chain, and the last sequence there really is, both of one moment. */
export interface ChainExtent {
  /** Null: the head record is gone. */
  readonly sequence: number | null;
  readonly hash: string | null;
  /** Null: there are no entries. */
  readonly lastSequence: number | null;
}

/** Entries that follow one another, read for their hashes to be checked. */
export interface ChainPiece {
  /** For `entriesFromJson`. */
  readonly entries: string;
  readonly last: number;
}

/** Reads the entries of the ledger, for the audit and the provenance view. */
@Injectable()
export class EntryReader {
  constructor(
    private readonly database: Database,
    private readonly reader: RecordReader,
  ) {}

  async page(request: PageRequest): Promise<Page<ListedEntry>> {
    const page = await this.reader.pageOf(LISTED, request);
    return { ...page, rows: page.rows as unknown as ListedEntry[] };
  }

  async find(sequence: number): Promise<StoredEntry | undefined> {
    const [entry] = await this.database.points.all<StoredEntry>(SELECT_ENTRY, [sequence]);
    return entry;
  }

  async extent(): Promise<ChainExtent> {
    const [extent] = await this.database.chain.all<ChainExtent>(SELECT_EXTENT);
    if (extent === undefined) throw new Error('An aggregate query answered no row.');
    return extent;
  }

  /** The last entry before a sequence; undefined when there is none. */
  async before(sequence: number): Promise<Pick<StoredEntry, 'sequence' | 'hash'> | undefined> {
    const [entry] = await this.database.chain.all<StoredEntry>(SELECT_BEFORE, [sequence]);
    return entry;
  }

  /** The next entries after one sequence, up to and including another, in order; as many as memory is no matter. */
  async piece(after: number, upTo: number): Promise<ChainPiece | null> {
    for (let limit = PIECE_ENTRIES; ; limit = Math.ceil(limit / 2)) {
      const [extent] = await this.database.chain.all<PieceExtent>(SELECT_PIECE_EXTENT, [after, upTo, limit]);
      if (extent === undefined || extent.count === 0) return null;
      if (extent.bytes > PIECE_BYTES && extent.count > 1) continue;
      return { entries: await this.pieceText([after, extent.last, extent.count]), last: extent.last };
    }
  }

  /** One text costs the event loop a fraction of what the values of as many rows do. */
  private async pieceText(bounds: readonly [after: number, upTo: number, limit: number]): Promise<string> {
    const columns = `(${SELECT_PIECE}) AS piece`;
    try {
      const sql = `SELECT ${this.database.dialect.jsonRows(COLUMNS)} AS "entries" FROM ${columns}`;
      const [row] = await this.database.chain.all<{ entries: string | null }>(sql, bounds);
      return row?.entries ?? '[]';
    } catch (error) {
      if (!(error instanceof DatabaseFault) || error.kind !== 'programming') throw error;
      // Altered rows can hold what the database does not write as JSON, such as bytes.
      return JSON.stringify((await this.database.chain.all<StoredEntry>(SELECT_PIECE, bounds)).map(entryValues));
    }
  }
}

interface PieceExtent {
  readonly count: number;
  readonly last: number;
  readonly bytes: number;
}
