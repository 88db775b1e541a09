import { type ColumnDefinition, quoteName } from '../../ledger/database/dialect';
import { PostgresConnection } from '../../ledger/database/postgres/postgres-connection';
import { POSTGRES_DIALECT } from '../../ledger/database/postgres/postgres-database';
import { LIFT_TIMEOUTS, migrationConfig } from '../../ledger/database/postgres/postgres-settings';
import { preparedConnection, type SqlConnection } from '../../ledger/database/sql-connection';
import { DatabaseFault, DatabaseInUseError } from '../../ledger/database/database-fault';
import { insertRows } from '../../ledger/records/statements';
import { MOVE_MARK, unfinishedMoveTo } from '../../ledger/schema/move-mark';
import { TARGET_TABLES } from './move-plan';
import { type Head, headIn } from './source-database';

/** Key of the advisory lock of a move: any number that no other program in the same database uses. */
const MOVE_LOCK = 7_463_001_201;
/** Milliseconds to wait for a move that was killed: the server may still be running its last statement. */
const LOCK_PATIENCE = 30_000;
/** Rows fetched at once. */
const FETCHED = 50;

/** Makes the server end the statement of a killed process. Servers before PostgreSQL 14 lack the setting. */
const WATCH_CLIENT = `SELECT set_config("name", '1000', false) FROM pg_settings WHERE "name" = 'client_connection_check_interval'`;
/** Selects objects in the database other than those of the system and of extensions. */
const SELECT_FOUND = `SELECT relname AS "name" FROM pg_class JOIN pg_namespace AS schema ON schema.oid = relnamespace
  WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname NOT LIKE 'pg@_%' ESCAPE '@'
  AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e') ORDER BY relname`;
/** Selects indexes that no constraint needs. */
const SELECT_INDEXES = `SELECT pg_get_indexdef(indexrelid) AS "sql", indexrelid::regclass::text AS "name" FROM pg_index
  WHERE indrelid = $1::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)`;
const SELECT_COLUMNS = `SELECT attname AS "name", CASE WHEN atttypid IN ('int4'::regtype, 'int8'::regtype) THEN 'integer' ELSE 'text' END AS "type"
  FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`;

/** The error for a target that is not empty, whose contents would mix with the moved ones. */
export class TargetNotEmptyError extends Error {}

/**
 * Marks an empty target. With `again`, also marks one that a move has marked before, and drops the tables of that move.
 */
export async function markTarget(connection: SqlConnection, target: MarkedTarget): Promise<void> {
  const { location, source, again } = target;
  // Read outside of the transaction, which would end if the mark were missing.
  const earlier = again ? await unfinishedMoveTo({ location, dialect: POSTGRES_DIALECT, connection }) : null;
  await connection.run('BEGIN');
  try {
    if (earlier !== null) await connection.run(`DROP TABLE IF EXISTS ${TARGET_TABLES.map(quoteName).join(', ')}`);
    await refuseFilled(connection, target);
    await connection.run(`CREATE TABLE "${MOVE_MARK}" ("source" text NOT NULL)`);
    await connection.run(`INSERT INTO "${MOVE_MARK}" VALUES ($1)`, [source]);
    await connection.commit();
  } catch (error) {
    await connection.run('ROLLBACK');
    throw error;
  }
}

export interface MarkedTarget {
  readonly location: string;
  /** Path of the moved database. */
  readonly source: string;
  readonly again: boolean;
}

async function refuseFilled(connection: SqlConnection, { location, again }: MarkedTarget): Promise<void> {
  const names = (await connection.all<{ name: string }>(SELECT_FOUND)).map(({ name }) => name);
  if (names.length === 0) return;
  const isMarked = names.includes(MOVE_MARK);
  const remedy =
    isMarked && !again
      ? 'An earlier move to it has not ended: --again drops the tables of that move, and begins anew.'
      : 'Name an empty database.';
  throw new TargetNotEmptyError(
    `The database ${location} is not empty: it has ${names.slice(0, 3).join(', ')}. ${remedy}`,
  );
}

/** The session that fills the target. */
export class TargetDatabase {
  private readonly dropped: string[] = [];

  private constructor(private readonly connection: PostgresConnection) {}

  /** @throws DatabaseInUseError while another move fills it */
  static async open(url: string, location: string): Promise<TargetDatabase> {
    const opening = PostgresConnection.open({ ...migrationConfig(url), lock_timeout: LOCK_PATIENCE });
    const connection = await preparedConnection(opening, async (opened) => {
      await opened.run(LIFT_TIMEOUTS);
      await opened.all(WATCH_CLIENT);
      await lockMove(opened, location);
      // The commit that removes the mark waits for the disk, and thereby for all earlier ones.
      await opened.run('SET synchronous_commit = off');
      await opened.run(`SET maintenance_work_mem = '128MB'`);
    });
    return new TargetDatabase(connection);
  }

  get session(): SqlConnection {
    return this.connection;
  }

  columns(table: string): Promise<ColumnDefinition[]> {
    return this.connection.all<ColumnDefinition>(SELECT_COLUMNS, [quoteName(table)]);
  }

  head(): Promise<Head | null> {
    return headIn(this.connection);
  }

  async countRows(table: string): Promise<number> {
    const [row] = await this.connection.all<{ count: number }>(`SELECT count(*) AS "count" FROM ${quoteName(table)}`);
    return row?.count ?? 0;
  }

  /** Drops the indexes of a table, because rows are added several times as fast without them. */
  async dropIndexes(table: string): Promise<void> {
    for (const { sql, name } of await this.connection.all<{ sql: string; name: string }>(SELECT_INDEXES, [
      quoteName(table),
    ])) {
      this.dropped.push(sql);
      await this.connection.run(`DROP INDEX ${name}`);
    }
  }

  async restoreIndexes(onIndex: (done: number, total: number) => void): Promise<void> {
    const { length } = this.dropped;
    for (const [index, sql] of this.dropped.entries()) {
      onIndex(index, length);
      await this.connection.run(sql);
    }
    this.dropped.length = 0;
  }

  /** @param lists rows as `SourceDatabase.rows` returns them */
  insert(table: string, columns: readonly ColumnDefinition[], lists: string): Promise<void> {
    return this.connection.run(insertRows(POSTGRES_DIALECT, table, columns), [lists]);
  }

  /** Yields every row of a table as the JSON text of its values, in chunks. */
  async *rows(table: string, columns: readonly ColumnDefinition[]): AsyncGenerator<string[]> {
    const values = columns.map(({ name }) => quoteName(name)).join(', ');
    await this.connection.run('BEGIN');
    await this.connection.run(
      `DECLARE copied NO SCROLL CURSOR FOR SELECT json_build_array(${values})::text AS "row" FROM ${quoteName(table)}`,
    );
    for (let isOver = false; !isOver;) {
      const rows = await this.connection.all<{ row: string }>(`FETCH ${FETCHED} FROM copied`);
      yield rows.map(({ row }) => row);
      isOver = rows.length < FETCHED;
    }
    await this.connection.run('COMMIT');
  }

  /** Removes the mark, after which the service can start on the target. */
  async removeMark(): Promise<void> {
    await this.connection.run('SET synchronous_commit = on');
    await this.connection.run(`DROP TABLE "${MOVE_MARK}"`);
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

async function lockMove(connection: SqlConnection, location: string): Promise<void> {
  try {
    await connection.run('SELECT pg_advisory_lock($1::bigint)', [MOVE_LOCK]);
  } catch (error) {
    if (error instanceof DatabaseFault && error.kind === 'busy')
      throw new DatabaseInUseError(location, 'another move fills it. Wait for its end.');
    throw error;
  }
}
