/** Exports for the tests of a module, without development dependencies or a particular test runner. */
export { createTestApp, type TestApp, type TestAppOptions } from './create-test-app';
export type { Answer, Parsed, Sent } from './send';
export { temporaryDatabase, type TemporaryDatabase } from './temporary-database';
export { TEST_API_KEY } from './test-api-key';
