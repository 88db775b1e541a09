/** Set for all tests of a Jest project: see jest.config.mjs. */
const { DATABASE_KIND = 'sqlite' } = globalThis as { DATABASE_KIND?: string };

/** The database under the tests of this run. */
export const onPostgres = DATABASE_KIND === 'postgres';

/** For properties of SQLite only, such as its file; visibly skipped on PostgreSQL. */
export const describeOnSqlite = onPostgres ? describe.skip : describe;
export const itOnSqlite = onPostgres ? it.skip : it;
