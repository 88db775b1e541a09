import { LedgerQueue } from './ledger-queue';
import { SYSTEM_CALLER } from '../caller';

const MAXIMUM_WAIT = 10_000;

describe('The queue of commands', () => {
  let now = 0;
  let queue: LedgerQueue;
  let refused: unknown[];

  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    queue = new LedgerQueue(3, MAXIMUM_WAIT);
    refused = [];
  });
  afterEach(() => jest.restoreAllMocks());

  function push(): void {
    const reject = (error: Error): number => refused.push(error);
    const command = async (): Promise<null> => null;
    queue.push({
      caller: SYSTEM_CALLER,
      command,
      beforeReplay: null,
      lookups: [],
      keyed: null,
      resolve: () => null,
      reject,
    });
  }

  it('refuses further commands when it is full', () => {
    for (let pushed = 0; pushed < 3; pushed += 1) push();
    expect(push).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    queue.take(1);
    expect(push).not.toThrow();
  });

  it('returns the oldest commands first, and puts commands back at the front', () => {
    for (now = 1; now <= 3; now += 1) push();
    const [first, second] = queue.take(2);
    if (second !== undefined) queue.putBack([second]);
    expect(queue.length).toBe(2);
    expect(queue.take(9)[0]).toBe(second);
    expect(first?.deadline).toBeLessThan(second?.deadline ?? 0);
  });

  it('refuses only commands that have waited too long', () => {
    push();
    now = 5_000;
    push();
    now = MAXIMUM_WAIT;
    queue.expire();
    expect(refused).toEqual([]);
    now = MAXIMUM_WAIT + 1;
    queue.expire();
    expect(refused).toEqual([expect.objectContaining({ code: 'UNAVAILABLE' })]);
    expect(queue.length).toBe(1);
  });
});
