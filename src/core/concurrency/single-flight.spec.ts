import { setImmediate as nextTurn } from 'node:timers/promises';
import { SingleFlight } from './single-flight';

interface Begun {
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
      ({ wishes, abandoned }) =>
        new Promise((end, fail) => {
          abandoned.addEventListener('abort', () => fail(new Error('abandoned')));
          begun.push({ wishes: [...wishes], abandoned, end });
        }),
    );
  });

  /** Ends the current run, so that the next one begins. */
  async function endRun(): Promise<void> {
    begun.at(-1)?.end(`run ${begun.length}`);
    await nextTurn();
  }

  it('runs one at a time, shared by all callers that came before it began', async () => {
    const first = runs.call({ wishes: ['a'] });
    const others = [runs.call({ wishes: ['b'] }), runs.call({ wishes: ['c'] })];
    expect(begun).toHaveLength(1);
    await endRun();
    expect(begun.map(({ wishes }) => wishes)).toEqual([['a'], ['b', 'c']]);
    const late = runs.call();
    await endRun();
    await endRun();
    expect(await Promise.all([first, ...others, late])).toEqual(['run 1', 'run 2', 'run 2', 'run 3']);
    await runs.ended();
  });

  it('stops the run that is under way, and those that wait: their callers get the reason', async () => {
    const reason = new Error('The service is stopping.');
    const calls = [runs.call(), runs.call()].map((call) => call.catch((error: unknown) => error));
    await runs.stop(reason);
    expect(await Promise.all(calls)).toEqual([reason, reason]);
    expect(begun).toHaveLength(1);
    expect(begun[0]?.abandoned.reason).toBe(reason);
  });

  it('continues for the remaining callers, and ends when the last one has left', async () => {
    const [one, two] = [new AbortController(), new AbortController()];
    const running = runs.call({ signal: one.signal });
    const waiting = [runs.call({ signal: one.signal }), runs.call({ signal: two.signal })];
    one.abort(new Error('left'));
    for (const call of [running, waiting[0]]) await expect(call).rejects.toThrow('left');
    expect(begun[0]?.abandoned.aborted).toBe(true);
    await nextTurn();
    expect(begun).toHaveLength(2);
    await endRun();
    expect(await waiting[1]).toBe('run 2');
    await expect(runs.call({ signal: one.signal })).rejects.toThrow('left');
    await runs.ended();
    expect(begun).toHaveLength(2);
  });

  it('begins no run that everybody has left before', async () => {
    const signal = new AbortController();
    const running = runs.call();
    const alone = runs.call({ signal: signal.signal });
    signal.abort(new Error('left'));
    await expect(alone).rejects.toThrow('left');
    await endRun();
    await running;
    expect(begun).toHaveLength(1);
  });

  it('rejects all callers of a failed run, and continues', async () => {
    let runs = 0;
    const failing = new SingleFlight<never, never>(() => Promise.reject(new Error(`failed ${(runs += 1)}`)));
    const calls = [failing.call(), failing.call(), failing.call()];
    expect(
      (await Promise.allSettled(calls)).map((call) => (call.status === 'rejected' ? String(call.reason) : '')),
    ).toEqual(['Error: failed 1', 'Error: failed 2', 'Error: failed 2']);
    await failing.ended();
  });
});
