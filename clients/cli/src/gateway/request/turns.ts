/** What goes on at its next turn. */
const waiting: (() => void)[] = [];

/** Runs steps to their end, in turns with those of others: one step at a time, and other events in between. */
export async function inTurns<Result>(steps: Generator<undefined, Result, undefined>): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(runNext);
    });
  }
}

function runNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(runNext);
}
