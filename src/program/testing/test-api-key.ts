/** The key of every application for tests, unless its environment sets another. */
export const TEST_API_KEY = 'a-key-for-tests-that-is-long-enough';
/** Key with which applications for tests replace secrets if one must be set: on PostgreSQL. */
export const TEST_SECRET_KEY = Buffer.alloc(32, 'secrets of tests').toString('base64');

/** Settings that a database on a server requires. */
export function postgresSettings({ DATABASE_URL = '' }: Readonly<Partial<Record<string, string>>>): {
  readonly SECRET_KEY?: string;
} {
  return /^postgres(?:ql)?:/.test(DATABASE_URL) ? { SECRET_KEY: TEST_SECRET_KEY } : {};
}
