/** The key of every application for tests, unless its environment sets another. */
export const TEST_API_KEY = 'a-key-for-tests-that-is-long-enough';
