/** Set for all tests of a Jest project: see jest.config.mjs. */
const { DATABASE_KIND = 'sqlite' } = globalThis as { DATABASE_KIND?: string };

/** The database under the tests of this run. */
export const onPostgres = DATABASE_KIND === 'postgres';

/**
 * `DATABASE_DRIVER=better-sqlite3 npx jest --selectProjects sqlite` runs the tests on the other driver, if it is
 * installed.
 */
const { DATABASE_DRIVER } = process.env;
export const DRIVER_OF_THE_RUN = onPostgres || DATABASE_DRIVER === undefined ? {} : { DATABASE_DRIVER };

/** For properties of SQLite only, such as its file; visibly skipped on PostgreSQL. */
export const describeOnSqlite = onPostgres ? describe.skip : describe;
export const itOnSqlite = onPostgres ? it.skip : it;
