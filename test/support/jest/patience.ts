/** Milliseconds. Tests may run on a busy machine. */
jest.setTimeout(300_000);
