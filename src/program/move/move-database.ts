import { PostgresDatabase } from '../../ledger/database/postgres/postgres-database';
import { migrate } from '../../ledger/database/postgres/postgres-migrations';
import { SchemaContribution } from '../../ledger/database/start-condition';
import { RecordCatalog } from '../../ledger/records/record-catalog';
import { FirstRelease1763600000000 } from '../../ledger/schema/first-release.migration';
import { rebuildDerivedData } from './derived-data';
import { planCopies, type TableCopy } from './move-plan';
import { copyFiles, type MovedFile } from './moved-files';
import type { Progress } from './progress';
import { RowDigest } from './row-digest';
import { collectServiceParts, type ServiceParts } from './service-parts';
import type { Head, SourceDatabase } from './source-database';
import { markTarget, type TargetDatabase } from './target-database';
import { TargetVerification } from './target-verification';

/** Milliseconds between progress lines of a verification. */
const REPORT_INTERVAL_MS = 2_000;

export interface Move {
  readonly source: SourceDatabase;
  readonly target: TargetDatabase;
  readonly url: string;
  /** Location of the target, without a password. */
  readonly location: string;
  /** True to drop the tables that an earlier move has made. */
  readonly again: boolean;
  readonly files: readonly MovedFile[];
  readonly progress: Progress;
}

export interface MoveResult {
  readonly heads: readonly [source: Head, target: Head | null];
  /** Faults, in one line each; the target is usable if there are none. */
  readonly faults: readonly string[];
}

/** Copies a database to an empty one, which is marked until everything in it is verified. */
export async function moveDatabase(move: Move): Promise<MoveResult> {
  const { source, target, progress } = move;
  const head = await source.head();
  if (head === null) throw new Error(`${source.path} has no head record: start the service on it once.`);
  const copies = planCopies(await source.tables());
  const parts = await collectServiceParts();
  await prepareSchema(move, parts);
  for (const { table } of copies) await target.dropIndexes(table);
  const faults: string[] = [];
  for (const copy of copies) faults.push(...(await copyTable(move, copy)));
  await target.restoreIndexes((done, total) => progress.update(`indexes  ${done} of ${total}`));
  faults.push(...(await completeTarget(move, parts)));
  const result = await target.head();
  if (result?.sequence !== head.sequence || result.hash !== head.hash) faults.push('The heads differ.');
  if (faults.length === 0) {
    await copyFiles(move.files);
    await target.removeMark();
  }
  return { heads: [head, result], faults };
}

/** Migrates the target to the schema of the source; later migrations run after the copy. */
async function prepareSchema(
  { source, location, url, again, progress }: Move,
  { schema }: ServiceParts,
): Promise<void> {
  progress.begin('schema');
  const applied = await source.migrations();
  const migrations = schema.migrations.filter(
    (migration) => migration === FirstRelease1763600000000 || applied.has(migration.name),
  );
  const isCurrent = migrations.length === schema.migrations.length;
  const reached = isCurrent ? schema : new SchemaContribution([], migrations);
  await migrate(url, reached, (connection) => markTarget(connection, { location, source: source.path, again }));
}

/** @returns faults of the copy */
async function copyTable({ source, target, progress }: Move, { table, check }: TableCopy): Promise<string[]> {
  const columns = await target.columns(table);
  const names = columns.map(({ name }) => name);
  const sourceNames = await source.columns(table);
  if (names.toSorted().join() !== sourceNames.toSorted().join())
    throw new Error(`The table ${table} has the columns ${sourceNames.join(', ')}, expected ${names.join(', ')}.`);
  const total = await source.countRows(table);
  const digest = new RowDigest();
  let copied = 0;
  let inserted = Promise.resolve();
  progress.begin(`${table}  ${total}`);
  for await (const { lists, count } of source.rows(table, names)) {
    if (check === 'rows') for (const row of JSON.parse(lists) as unknown[]) digest.add(row);
    await inserted;
    // The next rows are read during the insert.
    inserted = target.insert(table, columns, lists);
    inserted.catch(() => undefined);
    copied += count;
    progress.update(`${table}  ${copied} of ${total}`);
  }
  await inserted;
  if ((await target.countRows(table)) !== total) return [`The table ${table} does not have its ${total} rows.`];
  if (check !== 'rows') return [];
  const copiedDigest = new RowDigest();
  for await (const rows of target.rows(table, columns)) for (const row of rows) copiedDigest.add(JSON.parse(row));
  return digest.equals(copiedDigest) ? [] : [`The rows of ${table} differ from those of the source.`];
}

/** Runs the migrations that the source has not had, rebuilds derived data, and verifies everything. */
async function completeTarget({ target, url, progress }: Move, { schema, kinds }: ServiceParts): Promise<string[]> {
  progress.begin('migrations');
  const database = await PostgresDatabase.open(url, { schema, check: () => Promise.resolve() });
  try {
    const catalog = new RecordCatalog(kinds, database.dialect);
    progress.begin('derived data');
    await rebuildDerivedData(target.session, catalog.all);
    await target.session.run('ANALYZE');
    const verification = new TargetVerification(database, kinds);
    progress.begin('verification of the chain');
    const report = setInterval(() => {
      if (verification.sequence > 0) progress.update(`verified entries  ${verification.sequence}`);
    }, REPORT_INTERVAL_MS);
    try {
      const faults = await verification.chainFaults();
      progress.begin('verification of records and derived data');
      return [...faults, ...(await verification.recordFaults())];
    } finally {
      clearInterval(report);
    }
  } finally {
    await database.close();
  }
}
