/** Returns a function that runs a task, and once more after it if it was called meanwhile, however often. */
export function oneAtATime(task: () => Promise<unknown>): () => Promise<void> {
  let isRunning = false;
  let isAgain = false;
  return async () => {
    isAgain = true;
    if (isRunning) return;
    isRunning = true;
    try {
      while (isAgain) {
        isAgain = false;
        await task();
      }
    } finally {
      isRunning = false;
    }
  };
}
