import { statSync } from 'node:fs';
import { quoteName } from '../../ledger/database/dialect';
import type { SqlConnection } from '../../ledger/database/sql-connection';
import { preparedConnection } from '../../ledger/database/sql-connection';
import { SqliteConnection } from '../../ledger/database/sqlite/sqlite-connection';
import { SQLITE_DIALECT } from '../../ledger/database/sqlite/sqlite-database';
import { lockedDatabase, refuseHardLinks, resolveDatabaseFile } from '../../ledger/database/sqlite/sqlite-file';
import { applyReaderSettings, PASSING_CACHE_SIZE } from '../../ledger/database/sqlite/sqlite-settings';
import { fittingChunk } from '../../ledger/reading/chunks';
import { sizeSql } from '../../ledger/records/statements';
import { refuseUnknownSchema } from '../../ledger/schema/schema-version';

/** Most rows that one statement reads. */
const CHUNK_ROWS = 1_000;

/** The end of a chain. */
export interface Head {
  readonly sequence: number;
  readonly hash: string;
}

const SELECT_HEAD = 'SELECT "sequence", "hash" FROM "ledger_head" WHERE "id" = 1';

/** Returns the head record; null if it is missing. */
export async function headIn(connection: Pick<SqlConnection, 'all'>): Promise<Head | null> {
  const [head] = await connection.all<Head>(SELECT_HEAD);
  return head ?? null;
}

/** The SQLite database of a stopped service, locked and opened for reading. */
export class SourceDatabase {
  private constructor(
    readonly path: string,
    private readonly connection: SqlConnection,
    private readonly lock: SqlConnection,
  ) {}

  /**
   * @throws DatabaseInUseError if a service uses the file; Error if the file does not exist, or its schema is unknown
   */
  static async open(configuredPath: string): Promise<SourceDatabase> {
    if (statSync(configuredPath, { throwIfNoEntry: false }) === undefined)
      throw new Error(`There is no database ${configuredPath}.`);
    const path = resolveDatabaseFile(configuredPath);
    refuseHardLinks(path);
    const lock = await lockedDatabase(path);
    try {
      const connection = await preparedConnection(SqliteConnection.open(path, 'read'), async (opened) => {
        await applyReaderSettings(opened, PASSING_CACHE_SIZE);
        await refuseUnknownSchema({ location: path, dialect: SQLITE_DIALECT, connection: opened });
      });
      return new SourceDatabase(path, connection, lock);
    } catch (error) {
      await lock.close();
      throw error;
    }
  }

  head(): Promise<Head | null> {
    return headIn(this.connection);
  }

  async tables(): Promise<string[]> {
    const rows = await this.connection.all<{ name: string }>(
      `SELECT "name" FROM sqlite_master WHERE "type" = 'table' AND "name" NOT LIKE 'sqlite@_%' ESCAPE '@'`,
    );
    return rows.map(({ name }) => name);
  }

  async columns(table: string): Promise<string[]> {
    const rows = await this.connection.all<{ name: string }>('SELECT "name" FROM pragma_table_info($1)', [table]);
    return rows.map(({ name }) => name);
  }

  /** Returns the names of the migrations that were run. */
  async migrations(): Promise<ReadonlySet<string>> {
    const rows = await this.connection.all<{ name: string }>('SELECT "name" FROM "migrations"');
    return new Set(rows.map(({ name }) => name));
  }

  async countRows(table: string): Promise<number> {
    const sql = `SELECT count(*) AS "count" FROM ${quoteName(table)}`;
    const [row] = await this.connection.all<{ count: number }>(sql);
    return row?.count ?? 0;
  }

  /**
   * Yields the rows of a table in chunks that fit in memory, each as the JSON text of lists of values in the order of
   * the columns.
   */
  async *rows(
    table: string,
    columns: readonly string[],
  ): AsyncGenerator<{ readonly lists: string; readonly count: number }> {
    const range = `FROM ${quoteName(table)} WHERE rowid > $1 AND rowid <= $2 ORDER BY rowid`;
    const extentSql =
      `SELECT count(*) AS "count", max("place") AS "last", sum("size") AS "bytes" FROM ` +
      `(SELECT rowid AS "place", ${sizeSql(columns.map(quoteName))} AS "size" ${range} LIMIT $3) AS chunk`;
    const rowsSql = `SELECT ${SQLITE_DIALECT.jsonRows(columns)} AS "lists" FROM (SELECT ${columns.map(quoteName).join(', ')} ${range})`;
    for (let after = Number.MIN_SAFE_INTEGER; ;) {
      const extent = await fittingChunk(this.connection, extentSql, [after, Number.MAX_SAFE_INTEGER], CHUNK_ROWS);
      if (extent === null) return;
      const [chunk] = await this.connection.all<{ lists: string }>(rowsSql, [after, extent.last]);
      yield { lists: chunk?.lists ?? '[]', count: extent.count };
      after = extent.last;
    }
  }

  async close(): Promise<void> {
    await this.connection.close();
    await this.lock.close();
  }
}
