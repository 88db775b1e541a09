/** Milliseconds for which a command may wait for something else than the database: everybody else waits for it. */
export const LONGEST_COMMAND = 1_000;

/** What a command comes to; it is given up when it waits too long. The database bounds by itself what it is asked for. */
export function inTime<Result>(command: Promise<Result>, waits: { readonly isReading: boolean }): Promise<Result> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      if (waits.isReading) limit.refresh();
      else reject(new Error(`A command did not end within ${LONGEST_COMMAND} milliseconds; nothing of it is written.`));
    }, LONGEST_COMMAND);
    void command.then(resolve, reject).finally(() => clearTimeout(limit));
  });
}
