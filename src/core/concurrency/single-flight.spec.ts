import { setImmediate as nextTurn } from 'node:timers/promises';
import { SingleFlight } from './single-flight';

const ORDINARY = 0;

interface Begun {
  readonly from: number;
  readonly wishes: readonly string[];
  readonly abandoned: AbortSignal;
  readonly end: (result: string) => void;
}

describe('SingleFlight', () => {
  let begun: Begun[];
  let runs: SingleFlight<string, string>;

  beforeEach(() => {
    begun = [];
    runs = new SingleFlight(
      ({ from, wishes, abandoned }) =>
        new Promise((end, fail) => {
          abandoned.addEventListener('abort', () => fail(new Error('abandoned')));
          begun.push({ from, wishes: [...wishes], abandoned, end });
        }),
      ORDINARY,
    );
  });

  const beginnings = (): number[] => begun.map(({ from }) => from);

  /** Ends the current run, so that the next one begins. */
  async function endRun(): Promise<void> {
    begun.at(-1)?.end(`run ${begun.length}`);
    await nextTurn();
  }

  it('runs one at a time, shared by all callers that came before it began', async () => {
    const first = runs.call(7, { wishes: ['a'] });
    const others = [runs.call(7, { wishes: ['b'] }), runs.call(7, { wishes: ['c'] })];
    expect(beginnings()).toEqual([7]);
    await endRun();
    expect(begun.map(({ wishes }) => wishes)).toEqual([['a'], ['b', 'c']]);
    const late = runs.call(7);
    await endRun();
    await endRun();
    expect(await Promise.all([first, ...others, late])).toEqual(['run 1', 'run 2', 'run 2', 'run 3']);
    await runs.ended();
  });

  it('stops the run that is under way, and those that wait: their callers get the reason', async () => {
    const reason = new Error('The service is stopping.');
    const calls = [runs.call(7), runs.call(8)].map((call) => call.catch((error: unknown) => error));
    await runs.stop(reason);
    expect(await Promise.all(calls)).toEqual([reason, reason]);
    expect(beginnings()).toEqual([7]);
    expect(begun[0]?.abandoned.reason).toBe(reason);
  });

  it('lets the ordinary run wait for at most one other, and every other for one ordinary run', async () => {
    const calls = [5, 6, 7, ORDINARY].map((from) => runs.call(from));
    await endRun();
    calls.push(runs.call(ORDINARY));
    await endRun();
    calls.push(runs.call(ORDINARY));
    for (let times = 0; times < 4; times += 1) await endRun();
    await Promise.all(calls);
    expect(beginnings()).toEqual([5, ORDINARY, 6, ORDINARY, 7]);
  });

  it('refuses a fifth waiting run, but never the ordinary one', async () => {
    const calls = [1, 2, 3, 4, 5, 5, ORDINARY, ORDINARY].map((from) => runs.call(from));
    await expect(runs.call(6)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await endRun();
    await endRun();
    // The ordinary run and the first waiting one have begun, so there is a free place.
    expect(beginnings()).toEqual([1, ORDINARY, 2]);
    calls.push(runs.call(6));
    await expect(runs.call(7)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    for (let times = 0; times < 6; times += 1) await endRun();
    await Promise.all(calls);
  });

  it('continues for the remaining callers, and ends when the last one has left', async () => {
    const [one, two] = [new AbortController(), new AbortController()];
    const running = runs.call(5, { leaving: one.signal });
    const waiting = [runs.call(6, { leaving: one.signal }), runs.call(6, { leaving: two.signal })];
    const alone = runs.call(7, { leaving: one.signal });
    one.abort(new Error('left'));
    for (const call of [running, waiting[0], alone]) await expect(call).rejects.toThrow('left');
    expect(begun[0]?.abandoned.aborted).toBe(true);
    await nextTurn();
    expect(beginnings()).toEqual([5, 6]);
    await endRun();
    expect(await waiting[1]).toBe('run 2');
    two.abort();
    await expect(runs.call(5, { leaving: one.signal })).rejects.toThrow('left');
    await runs.ended();
    expect(beginnings()).toEqual([5, 6]);
  });

  it('rejects all callers of a failed run, and continues', async () => {
    const failing = new SingleFlight<never, never>(({ from }) => Promise.reject(new Error(`failed ${from}`)));
    const calls = [1, 2, 2, 3].map((from) => failing.call(from));
    expect(
      (await Promise.allSettled(calls)).map((call) => (call.status === 'rejected' ? String(call.reason) : '')),
    ).toEqual(['Error: failed 1', 'Error: failed 2', 'Error: failed 2', 'Error: failed 3']);
    await failing.ended();
  });
});
