import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';

const BUSY_TIMEOUT = 5_000;
/** To read a database in WAL mode, SQLite creates files next to it, unless a running service has done so. */
const NO_FILES_BESIDE = new Set(['SQLITE_READONLY', 'SQLITE_CANTOPEN']);
const ADVICE =
  'SQLite has to create files next to a database to read it, and this user may not write to its folder. ' +
  'Verify a copy in a folder that this user can write: docs/verifier.md';

/**
 * A row, by column. The values are `any`, since they differ from statement to statement.
 * @typedef {Record<string, any>} Row
 */

/** A SQLite file, opened for reading only. Statements are short, so that they do not delay a running service. */
export class SqliteFile {
  /** @param {import('sqlite3').Database} database */
  constructor(database) {
    this.database = database;
  }

  /**
   * @param {string} path
   * @returns {Promise<SqliteFile>}
   */
  static open(path) {
    // Exports are read without the driver, so it is loaded only here.
    const sqlite3 = /** @type {typeof import('sqlite3')} */ (createRequire(import.meta.url)('sqlite3'));
    return new Promise((resolve, reject) => {
      const database = new sqlite3.Database(path, sqlite3.OPEN_READONLY, (error) => {
        if (error !== null) return reject(error);
        database.configure('busyTimeout', BUSY_TIMEOUT);
        resolve(new SqliteFile(database));
      });
    });
  }

  /**
   * @param {string} sql
   * @param {readonly unknown[]} parameters
   * @returns {Promise<Row[]>}
   */
  all(sql, parameters = []) {
    return new Promise((resolve, reject) => {
      this.database.all(sql, parameters, (error, rows) =>
        error === null ? resolve(/** @type {Row[]} */ (rows)) : reject(withExplanation(error)),
      );
    });
  }

  /**
   * Returns rows like `all`, but with bytes in place of texts that are not UTF-8, which the driver would change.
   * @param {string} sql
   * @param {readonly unknown[]} parameters
   * @returns {Promise<Row[]>}
   */
  async allAsStored(sql, parameters = []) {
    const rows = await this.all(sql, parameters);
    const names = Object.keys(rows[0] ?? {}).filter((name) => rows.some((row) => isReplaced(row[name])));
    if (names.length === 0) return rows;
    const bytes = names.map((name, index) => `CAST("${name}" AS BLOB) AS "bytes ${index}"`).join(', ');
    const storedRows = await this.all(`SELECT *, ${bytes} FROM (${sql})`, parameters);
    return storedRows.map((row) => {
      const values = names.map((name, index) => [name, asStored(row[name], row[`bytes ${index}`])]);
      return { ...row, ...Object.fromEntries(values) };
    });
  }

  /**
   * Returns the type of object under the name of a table, by the schema as SQLite understands it: `table`, or an object
   * that only reads like one, such as `view` or `virtual`; undefined if there is none.
   * @param {string} table
   * @returns {Promise<string | undefined>}
   */
  async typeOf(table) {
    // A statement is used, since the file can have a table in place of the function of that name.
    const tables = await this.all('PRAGMA main.table_list');
    return tables.find(({ name }) => String(name).toLowerCase() === table.toLowerCase())?.['type'];
  }

  /** @param {string} table */
  async has(table) {
    return (await this.typeOf(table)) === 'table';
  }

  /**
   * @param {string} table
   * @param {string} column
   */
  async hasColumn(table, column) {
    const columns = await this.all(`PRAGMA main.table_info("${table}")`);
    return columns.some(({ name }) => name === column);
  }

  /** @returns {Promise<void>} */
  close() {
    return new Promise((resolve, reject) =>
      this.database.close((error) => (error === null ? resolve() : reject(error))),
    );
  }
}

/** @param {Error & { code?: string }} error of a statement that reads */
function withExplanation(error) {
  return NO_FILES_BESIDE.has(error.code ?? '') ? new Error(`${ADVICE} (${error.message})`, { cause: error }) : error;
}

/** @param {unknown} value */
function isReplaced(value) {
  return typeof value === 'string' && value.includes('\ufffd');
}

/**
 * @param {unknown} value
 * @param {Buffer} bytes
 */
function asStored(value, bytes) {
  return typeof value === 'string' && !isUtf8(bytes) ? bytes : value;
}
