import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { quoted } from '../database/dialect';
import { ENTRY_COLUMNS } from './entry-columns';
import type { StoredEntry } from './hash-chain';
import type { PageSource } from './page-query';
import { RecordReader } from './record-reader';
import type { Page, PageRequest } from './record-page';

const COLUMNS = ENTRY_COLUMNS.map(({ name }) => name);
const SELECT = `SELECT ${COLUMNS.map(quoted).join(', ')} FROM "ledger_entries"`;
const SELECT_ENTRY = `${SELECT} WHERE "sequence" = $1`;
const SELECT_PIECE = `${SELECT} WHERE "sequence" > $1 AND "sequence" <= $2 ORDER BY "sequence" LIMIT $3`;
const SELECT_EXTENT =
  `SELECT head."sequence", head."hash", last."sequence" AS "lastSequence" ` +
  `FROM (SELECT max("sequence") AS "sequence" FROM "ledger_entries") AS last ` +
  `LEFT JOIN "ledger_head" AS head ON head."id" = 1`;

/** Lists leave the kept state out: it can be large, and an entry read alone has it. */
const LISTED: PageSource = {
  table: 'ledger_entries',
  columns: COLUMNS.filter((name) => name !== 'state'),
  orderColumn: 'sequence',
  counter: null,
  countedBy: null,
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

  /** The next entries after one sequence, up to and including another, in order. */
  piece(after: number, upTo: number, limit: number): Promise<StoredEntry[]> {
    return this.database.chain.all<StoredEntry>(SELECT_PIECE, [after, upTo, limit]);
  }
}
