/** Milliseconds. A test may share a busy machine with others. */
jest.setTimeout(300_000);
