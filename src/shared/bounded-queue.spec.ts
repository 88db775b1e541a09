import { BoundedQueue } from './bounded-queue';

/** A task that ends when the test says so. */
function task(): { readonly work: () => Promise<void>; readonly end: () => void; readonly hasBegun: () => boolean } {
  let [begun, end] = [false, (): void => undefined];
  const ended = new Promise<void>((resolve) => (end = resolve));
  const work = (): Promise<void> => {
    begun = true;
    return ended;
  };
  return { work, end, hasBegun: () => begun };
}

const refusal = { code: 'UNAVAILABLE' };

describe('BoundedQueue', () => {
  it('runs one task at a time, in order of arrival, also after one that fails', async () => {
    const queue = new BoundedQueue('Another task', { mostWaiting: 5 });
    const order: string[] = [];
    const step = (name: string) => async (): Promise<void> => {
      order.push(`${name} begins`);
      await Promise.resolve();
      order.push(`${name} ends`);
      if (name === 'b') throw new Error('b failed');
    };
    const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => queue.run(step(name))));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(order).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
    await expect(queue.run(() => Promise.resolve('d'))).resolves.toBe('d');
  });

  it('refuses a task when enough of them wait', async () => {
    const queue = new BoundedQueue('Another task', { mostWaiting: 1 });
    const [first, second] = [task(), task()];
    const runs = [queue.run(first.work), queue.run(second.work)];
    await expect(queue.run(() => Promise.resolve())).rejects.toMatchObject(refusal);
    first.end();
    second.end();
    await Promise.all(runs);
    await expect(queue.run(() => Promise.resolve('again'))).resolves.toBe('again');
  });

  it('refuses a task that has waited too long, and never begins it', async () => {
    const queue = new BoundedQueue('Another task', { mostWaiting: 5, longestWait: 20 });
    const [first, late] = [task(), task()];
    const run = queue.run(first.work);
    await expect(queue.run(late.work)).rejects.toMatchObject(refusal);
    first.end();
    await run;
    expect(late.hasBegun()).toBe(false);
    await expect(queue.run(() => Promise.resolve('again'))).resolves.toBe('again');
  });

  it('lets a task leave: it never begins, and its place is free', async () => {
    const queue = new BoundedQueue('Another task', { mostWaiting: 1 });
    const leaving = new AbortController();
    const [first, left, next] = [task(), task(), task()];
    const run = queue.run(first.work);
    const waiting = queue.run(left.work, leaving.signal);
    leaving.abort(new Error('The client has left.'));
    await expect(waiting).rejects.toThrow('The client has left.');
    await expect(queue.run(left.work, leaving.signal)).rejects.toThrow('The client has left.');
    const taken = queue.run(next.work);
    first.end();
    next.end();
    await Promise.all([run, taken]);
    expect([left.hasBegun(), next.hasBegun()]).toEqual([false, true]);
  });
});
