import timers from 'node:timers/promises';
import { TimeSlice } from './time-slice';

/** Milliseconds of a clock that only work moves. */
let now = 0;

/** Takes steps of a length in milliseconds. Returns how many turns that took. */
async function work(steps: number, length: number): Promise<number> {
  const turn = new TimeSlice();
  let turns = 1;
  for (let step = 0; step < steps; step += 1) {
    if (turn.isOver) {
      await turn.next();
      turns += 1;
    }
    now += length;
  }
  return turns;
}

describe('Divided work', () => {
  beforeEach(() => void jest.spyOn(performance, 'now').mockImplementation(() => now));
  afterEach(async () => {
    jest.restoreAllMocks();
    await new Promise(setImmediate);
  });

  it.each(['first', 'last'])('has whole turns next to other such work, if that began %s', async (order) => {
    const short = (): Promise<number> => work(1_000, 0.1);
    const others = (): Promise<number> => work(1_000, 3);
    const turns =
      order === 'last' ? await Promise.all([short(), others()]) : (await Promise.all([others(), short()])).reverse();
    // 100 ms, of which each turn takes 5.
    expect(turns[0]).toBeLessThan(25);
  });

  it('takes one step a turn if each is longer than a turn', async () => {
    expect(await work(20, 30)).toBeGreaterThan(18);
  });

  it.each([
    { length: 30, pause: [30] },
    { length: 3_000, pause: [250] },
    { length: 8, pause: null },
  ])(
    'leaves others as long as a long step took, up to a quarter of a second: $length ms',
    async ({ length, pause }) => {
      const pauses = jest.spyOn(timers, 'setTimeout').mockResolvedValue(undefined);
      await work(4, length);
      expect(pauses.mock.calls).toEqual(pause === null ? [] : [pause, pause, pause]);
    },
  );
});
