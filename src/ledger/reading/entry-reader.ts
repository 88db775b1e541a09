import { Injectable } from '@nestjs/common';
import { Database } from '../database/database';
import { quoteName } from '../database/dialect';
import { isOwnedSql, RecordCatalog } from '../records/record-catalog';
import { ENTRIES_COUNTED_BY, ENTRY_COUNTER } from '../records/counters';
import { isErasureSql, type StoredEntry } from '../chain/stored-entry';
import { ENTRY_COLUMNS } from '../schema/ledger-tables';
import { fittingChunk } from './chunks';
import type { PageSource } from './page-query';
import { RecordReader } from './record-reader';
import type { ShownMember } from '../records/record-text';
import { WrittenForms, type WrittenPage } from './written-page';
import type { Page, PageRequest } from '../kinds/record-page';
import { rowLists } from './row-lists';
import type { JsonObject } from '../../core/json/json-value';
import type { LastEntry } from '../commands/ledger-transaction';

const ENTRY_NAMES = ENTRY_COLUMNS.map(({ name }) => name);
const NAMES = ENTRY_NAMES.map(quoteName).join(', ');
const SELECT_ENTRY = `SELECT ${NAMES} FROM "ledger_entries" WHERE "sequence" = $1`;
const CHUNK_RANGE_SQL = 'WHERE "sequence" > $1 AND "sequence" <= $2 ORDER BY "sequence" LIMIT $3';
/** Columns of a chunk, in order. */
export const CHUNK_NAMES = [...ENTRY_NAMES, 'isErasureValid'];
const SELECT_CHUNK_EXTENT =
  `SELECT count(*) AS "count", max("sequence") AS "last", sum("size") AS "bytes" FROM (SELECT "sequence", ` +
  `octet_length("details") + COALESCE(octet_length("state"), 0) AS "size" FROM "ledger_entries" ${CHUNK_RANGE_SQL}) AS chunk`;
const SELECT_SUBJECTS = `SELECT DISTINCT "subjectId" FROM "ledger_entries" WHERE "sequence" > $1 AND "sequence" <= $2`;
const SELECT_BEFORE = `SELECT "sequence", "hash" FROM "ledger_entries" WHERE "sequence" < $1 ORDER BY "sequence" DESC LIMIT 1`;
/** Most entries of a chunk. */
const MAX_CHUNK_ENTRIES = 250;
/** Largest sequence that is read. Drivers round larger numbers, so entries with a larger sequence are only counted. */
const MAX_SEQUENCE = Number.MAX_SAFE_INTEGER;
const SELECT_EXTENT =
  `SELECT head."sequence", head."hash", head."frontier", last."sequence" AS "lastSequence", ` +
  `(SELECT count(*) FROM "ledger_entries" WHERE "sequence" > ${MAX_SEQUENCE}) AS "entriesBeyond", ` +
  `(SELECT count(*) FROM "ledger_entries" WHERE "sequence" < 1) AS "entriesBefore" ` +
  `FROM (SELECT max("sequence") AS "sequence" FROM "ledger_entries" WHERE "sequence" <= ${MAX_SEQUENCE}) AS last ` +
  `LEFT JOIN "ledger_head" AS head ON head."id" = 1`;

/** Columns that lists omit, because the sealed state can be large. An entry that is read alone has all columns. */
const UNLISTED: readonly string[] = ['state', 'stateSalt', 'detailsSalt'];

const LISTED_COLUMNS = ENTRY_COLUMNS.filter(({ name }) => !UNLISTED.includes(name)).map((column) =>
  column.name === 'details' ? { ...column, type: 'json' as const } : column,
);

/** The source of lists of entries. */
const LISTED: PageSource = {
  table: 'ledger_entries',
  columns: LISTED_COLUMNS.map(({ name }) => name),
  longColumns: ['details', 'state'],
  orderColumn: 'sequence',
  timeColumn: 'timestamp',
  counter: ENTRY_COUNTER,
  countedBy: ENTRIES_COUNTED_BY,
  listColumns: [],
  selectiveColumns: ['subjectId', 'entityId'],
  isLedger: true,
};

export type ListedEntry = Omit<StoredEntry, 'state' | 'detailsSalt' | 'stateSalt'>;

/** The end of the chain according to the head record, and the last existing sequence, from one snapshot. */
export interface ChainExtent {
  /** Null if the head record is missing. */
  readonly sequence: number | null;
  readonly hash: string | null;
  /** The Merkle tree over the entries, as `TreeFrontier` writes it. */
  readonly frontier: string | null;
  /** Null if there are no entries. */
  readonly lastSequence: number | null;
  /**
   * Number of entries that the ledger cannot have written: their sequence exceeds 2^53 - 1 or is not a number. The
   * other members exclude them.
   */
  readonly entriesBeyond: number;
  /** Number of entries with a sequence below the first that the ledger writes. */
  readonly entriesBefore: number;
}

/** An entry of a chunk. */
export type ChunkEntry = StoredEntry & {
  /** 0 if the entry is erased, but `erased` is not the sequence of an entry that erased it; otherwise 1. */
  readonly isErasureValid: number;
};

/** Consecutive entries, read to check their hashes. */
interface ChainChunk {
  /** JSON text of the rows, to be parsed by `rowsIn` with `CHUNK_NAMES`. */
  readonly entries: string;
  readonly last: number;
}

/** Reads the entries of the ledger, for the audit trail and the provenance view. */
@Injectable()
export class EntryReader {
  private readonly selectChunk: string;
  private readonly forms: WrittenForms;

  constructor(
    private readonly database: Database,
    private readonly reader: RecordReader,
    catalog: RecordCatalog,
  ) {
    this.forms = new WrittenForms(database.dialect);
    this.selectChunk = `SELECT ${NAMES}, ${isErasureValidSql(catalog)} AS "isErasureValid" FROM "ledger_entries" AS entry ${CHUNK_RANGE_SQL}`;
  }

  async page(request: PageRequest): Promise<Page<ParsedListedEntry>> {
    const page = await this.reader.pageOf(LISTED, request);
    return { ...page, rows: (page.rows as unknown as ListedEntry[]).map(parseListedEntry) };
  }

  /** Returns a page as JSON text with these members, or as rows if an altered row cannot be shown as text. */
  async shownPage(
    members: readonly ShownMember[],
    request: PageRequest,
  ): Promise<WrittenPage | Page<ParsedListedEntry>> {
    const form = this.forms.get(members, LISTED_COLUMNS);
    return (await this.reader.writtenPageOf(LISTED, form, request)) ?? this.page(request);
  }

  find(sequence: number): Promise<ParsedEntry | undefined> {
    return this.database.readAlone(async () => {
      const [entry] = await this.database.points.all<StoredEntry>(SELECT_ENTRY, [sequence]);
      return entry === undefined ? undefined : parseEntry(entry);
    });
  }

  /**
   * Maps record ids to their last entry with the action; if `upTo` is given, entries after it do not count. Each id is
   * a parameter of the SQL.
   */
  async lastOfEach(action: string, ids: readonly string[], upTo?: number): Promise<ReadonlyMap<string, LastEntry>> {
    if (ids.length === 0) return new Map();
    const places = ids.map((_, index) => `$${index + 3}`).join(', ');
    const rows = await this.database.points.all<Record<'subjectId' | 'timestamp' | 'details', string>>(
      `SELECT "subjectId", "timestamp", "details" FROM "ledger_entries" WHERE "sequence" IN (SELECT max("sequence") ` +
        `FROM "ledger_entries" WHERE "action" = $1 AND "sequence" <= $2 AND "subjectId" IN (${places}) GROUP BY "subjectId")`,
      [action, upTo ?? MAX_SEQUENCE, ...ids],
    );
    return new Map(
      rows.map(({ subjectId, timestamp, details }) => [
        subjectId,
        { timestamp, details: JSON.parse(details) as JsonObject | null },
      ]),
    );
  }

  async extent(): Promise<ChainExtent> {
    const [extent] = await this.database.chain.all<ChainExtent>(SELECT_EXTENT);
    if (extent === undefined) throw new Error('An aggregate query returned no row.');
    return extent;
  }

  /** Returns the last entry before a sequence; undefined if there is no such entry. */
  async lastBefore(sequence: number): Promise<Pick<StoredEntry, 'sequence' | 'hash'> | undefined> {
    const [entry] = await this.database.chain.all<StoredEntry>(SELECT_BEFORE, [sequence]);
    return entry;
  }

  /** Returns the ids of the records that the entries after `after`, up to and including `upTo`, are about. */
  async subjectsBetween(after: number, upTo: number): Promise<ReadonlySet<string>> {
    const rows = await this.database.points.all<Pick<StoredEntry, 'subjectId'>>(SELECT_SUBJECTS, [after, upTo]);
    return new Set(rows.map(({ subjectId }) => subjectId));
  }

  /**
   * Returns the next entries after `after`, up to `upTo`: at most 250 and 1 MB, or one larger entry; null if there are
   * none.
   */
  async chunk(after: number, upTo: number): Promise<ChainChunk | null> {
    const { chain, dialect } = this.database;
    const extent = await fittingChunk(chain, SELECT_CHUNK_EXTENT, [after, upTo], MAX_CHUNK_ENTRIES);
    if (extent === null) return null;
    const { last, count } = extent;
    const source = { connection: chain, dialect, columns: CHUNK_NAMES };
    return { entries: await rowLists(source, this.selectChunk, [after, last, count]), last };
  }
}

/**
 * Returns SQL with the result 1 if the entry is not erased, or if `erased` is a later erasure of its record (of the
 * owner, if the record has one); otherwise 0.
 */
function isErasureValidSql(catalog: RecordCatalog): string {
  const types = Array.from(
    catalog.owners,
    ([type, ownerType]) => `WHEN entry."subjectType" = '${type}' THEN '${ownerType}' `,
  );
  return (
    `CASE WHEN "erased" IS NULL THEN 1 ELSE (SELECT count(*) FROM "ledger_entries" AS erasure ` +
    `WHERE erasure."sequence" = entry."erased" AND erasure."sequence" > entry."sequence" ` +
    `AND erasure."subjectType" = CASE ${types.join('')}WHEN 1 = 1 THEN entry."subjectType" END ` +
    `AND erasure."subjectId" = CASE WHEN ${isOwnedSql(catalog, 'entry.')} THEN entry."entityId" ELSE entry."subjectId" END ` +
    `AND ${isErasureSql('erasure.')}) END`
  );
}

/** An entry of a list with its details as JSON. */
export type ParsedListedEntry = Omit<ListedEntry, 'details'> & { readonly details: JsonObject | null };

/** An entry with its details and the state it sealed, as JSON. */
export type ParsedEntry = ParsedListedEntry &
  Pick<StoredEntry, 'detailsSalt' | 'stateSalt'> & { readonly state: JsonObject | null };

/** Parses a listed entry. @throws SyntaxError if the details are not JSON, because somebody has altered them */
function parseListedEntry(entry: ListedEntry): ParsedListedEntry {
  return { ...entry, details: JSON.parse(entry.details) as JsonObject | null };
}

/** Parses an entry. @throws SyntaxError if its details or state are not JSON, because somebody has altered them */
export function parseEntry(entry: StoredEntry): ParsedEntry {
  const state = entry.state === null ? null : (JSON.parse(entry.state) as JsonObject);
  return { ...entry, ...parseListedEntry(entry), state };
}
