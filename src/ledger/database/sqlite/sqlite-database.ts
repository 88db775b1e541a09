import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { closeToOthers, makePrivateFile, warnWhereOthersMayWrite } from '../../../core/files/private-file';
import { OpenedParts } from '../../../core/lifecycle/opened-parts';
import { Database } from '../database';
import { movedAway } from '../database-fault';
import type { OpeningOptions, SchemaContribution } from '../start-condition';
import { preparedConnection, type SqlConnection } from '../sql-connection';
import { SqliteConnection, typeOrmOptions } from './sqlite-connection';
import { freeSpaceAt, lockedDatabase, refuseHardLinks, refuseReadOnly, resolveDatabaseFile } from './sqlite-file';
import { openingError } from './sqlite-fault';
import { applyReaderSettings, applyWriterSettings, BUSY_TIMEOUT_MS, PASSING_CACHE_SIZE } from './sqlite-settings';
import { type Dialect, quoteName } from '../dialect';

/** Free bytes that an ordinary batch may need. */
const MIN_FREE_BYTES = 1 << 20;

/**
 * A database file that only this process writes. Opening order: lock, checks of the existing file, migrations, then the
 * readers.
 */
export class SqliteDatabase extends Database {
  readonly dialect = SQLITE_DIALECT;
  readonly processId = randomUUID();
  readonly runner = this.processId;
  readonly isShared = false;
  /** Never cut off, because a system call always returns. */
  readonly isCutOff = false;
  private files: readonly FileIdentity[] = [];

  private constructor(
    readonly location: string,
    protected readonly schema: SchemaContribution,
    readonly points: SqlConnection,
    readonly lists: SqlConnection,
    readonly chain: SqlConnection,
    readonly sideConnection: SqlConnection,
    private readonly parts: OpenedParts,
  ) {
    super();
  }

  static async open(configuredPath: string, opening: OpeningOptions): Promise<SqliteDatabase> {
    const path = resolveDatabaseFile(configuredPath);
    refuseHardLinks(path);
    refuseReadOnly(path);
    warnWhereOthersMayWrite(dirname(path));
    try {
      return await SqliteDatabase.openFile(path, opening);
    } catch (error) {
      throw openingError(path, error);
    }
  }

  private static async openFile(path: string, opening: OpeningOptions): Promise<SqliteDatabase> {
    const parts = new OpenedParts();
    const open = (connect: () => Promise<SqlConnection>): Promise<SqlConnection> =>
      parts.open(connect, (connection) => connection.close());
    try {
      await open(() => lockedDatabase(path));
      // SQLite gives sibling files the permissions of the database.
      for (const file of [path, `${path}-wal`, `${path}-shm`]) closeToOthers(file);
      await checkFound(path, opening);
      makePrivateFile(path);
      await migrate(path, opening.schema);
      const points = await open(() => openReader(path));
      const lists = await open(() => openReader(path));
      const chain = await open(() => openReader(path, PASSING_CACHE_SIZE));
      const sideConnection = await open(() => openWriter(path));
      return new SqliteDatabase(path, opening.schema, points, lists, chain, sideConnection, parts);
    } catch (error) {
      await parts.close();
      throw error;
    }
  }

  async openWriter(requireSound: (connection: SqlConnection) => Promise<void>): Promise<SqlConnection> {
    return preparedConnection(openWriter(this.location), async (connection) => {
      // The first read creates the write-ahead log, whose identity is watched as well as the file's.
      await connection.run('SELECT 1 FROM sqlite_master');
      // Identities are taken with the first writer only: the readers stay with these files, so writing to others would
      // split the ledger.
      if (this.files.length === 0) this.files = [identityOf(this.location), identityOf(`${this.location}-wal`)];
      await requireSound(connection);
    });
  }

  async openReader(): Promise<SqlConnection> {
    if (!this.isInPlace()) throw movedAway();
    return openReader(this.location, PASSING_CACHE_SIZE);
  }

  /** All other processes have ended, because the lock excludes them. */
  async findEndedProcesses(names: readonly string[]): Promise<readonly string[]> {
    return names.filter((name) => name !== this.processId);
  }

  async truncateLog(writer: SqlConnection, patience: number): Promise<boolean> {
    await writer.run(`PRAGMA busy_timeout = ${patience}`);
    const [row] = await writer.all<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)');
    await writer.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return row?.busy === 0;
  }

  isInPlace(): boolean {
    return this.files.every(isStillInPlace);
  }

  async hasRoom(): Promise<boolean> {
    return (await freeSpaceAt(this.location)) >= MIN_FREE_BYTES;
  }

  /** Always 0: previous versions of pages are in the write-ahead log, where no query has to skip them. */
  deadRows(): Promise<number> {
    return Promise.resolve(0);
  }

  repositoryOptions(): DataSourceOptions {
    return { ...typeOrmOptions(this.location, 'read'), entities: [...this.schema.tables] };
  }

  /** Releases the lock last. */
  protected release(): Promise<void> {
    return this.parts.close();
  }
}

function openWriter(path: string): Promise<SqlConnection> {
  return preparedConnection(SqliteConnection.open(path, 'write'), applyWriterSettings);
}

function openReader(path: string, cacheSize?: number): Promise<SqlConnection> {
  return preparedConnection(SqliteConnection.open(path, 'read'), (connection) =>
    applyReaderSettings(connection, cacheSize),
  );
}

/**
 * Checks an existing file; does not create a missing one. Opens it for writing: only then can SQLite recover what a
 * crash left half written.
 */
async function checkFound(location: string, { check }: OpeningOptions): Promise<void> {
  const connection = existsSync(location) ? await SqliteConnection.open(location, 'write') : null;
  try {
    await check({ location, dialect: SQLITE_DIALECT, connection });
  } finally {
    await connection?.close();
  }
}

/** Runs missing migrations, each in its own transaction, on a connection that is closed afterwards. */
async function migrate(path: string, schema: SchemaContribution): Promise<void> {
  const dataSource = new DataSource({
    ...typeOrmOptions(path, 'create'),
    migrations: [...schema.migrations],
    migrationsTransactionMode: 'each',
  });
  await dataSource.initialize();
  try {
    await dataSource.query('PRAGMA synchronous = FULL');
    await dataSource.runMigrations();
  } finally {
    await dataSource.destroy();
  }
}

/** Identifies a file by device and inode, so that another file in its place is noticed. */
interface FileIdentity {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
}

function identityOf(path: string): FileIdentity {
  const { dev, ino } = statSync(path);
  return { path, device: dev, inode: ino };
}

/** False once the file was removed or replaced: what is written then is lost when the process ends. */
function isStillInPlace({ path, device, inode }: FileIdentity): boolean {
  const now = statSync(path, { throwIfNoEntry: false });
  return now?.dev === device && now.ino === inode;
}

export const SQLITE_DIALECT: Dialect = {
  begin: 'BEGIN IMMEDIATE',
  beginReading: 'BEGIN DEFERRED',
  // A statement instead of the table-valued function: the file can have a table of that name.
  query: () => ({ sql: 'PRAGMA main.table_list', parameters: [] }),
  clock: null,
  lockRow: '',
  // SQLite would parse the array of a row again for each of its columns. As JSONB it is parsed once, as a row of a
  // materialised table it is copied once: 1 MB took 120 ms, and takes 40.
  jsonElements: (parameter) =>
    `(WITH items AS MATERIALIZED (SELECT value FROM jsonb_each(${parameter}) AS item) SELECT value FROM items) AS item`,
  jsonAt: (index) => `item.value ->> ${index}`,
  jsonMember: (column, name) => `(${column} -> '$.${name}')`,
  unindexed: (column) => `+${column}`,
  unlikely: (condition) => `unlikely(${condition})`,
  jsonRows: (columns) => `json_group_array(json_array(${columns.map(quoteName).join(', ')}))`,
  jsonText: ({ name, type }) =>
    type === 'json' ? `COALESCE(${quoteName(name)}, 'null')` : `json_quote(${quoteName(name)})`,
  position: (column) => `nullif(typeof(${column}), 'null') || ':' || hex(${column})`,
  placeAt: (parameter) => {
    const bytes = `unhex(substr(${parameter}, 6))`;
    return `CASE WHEN ${parameter} LIKE 'text:%' THEN CAST(${bytes} AS TEXT) ELSE ${bytes} END`;
  },
  storageForms: {
    // In SQLite's sort order, bytes follow everything else; this costs less than `typeof`.
    isBytes: (column) => `${column} >= x''`,
    isAltered: ({ name, type }) => {
      const column = quoteName(name);
      // `json_valid` is strict; SQLite itself would also read JSON5.
      if (type === 'json') return `NOT json_valid(${column})`;
      // A text column turns numbers into texts.
      return type === 'text' ? `${column} >= x''` : `${column} IS NOT CAST(${column} AS INTEGER)`;
    },
    form: (column) =>
      `CASE WHEN typeof(${column}) IN ('text', 'blob') THEN typeof(${column}) || ':' || hex(${column}) ELSE ${column} END`,
  },
};
