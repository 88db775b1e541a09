import { Slices } from './slices';

/** Works for this many slices, and records the iteration of the event loop in which each began. */
async function work(slices: Slices, count: number, noteTurn: () => void): Promise<void> {
  for (let slice = 0; slice < count; slice += 1) {
    while (!slices.areDue);
    await slices.next();
    noteTurn();
  }
}

describe('Slices', () => {
  it('run one slice per iteration of the event loop, of all work together', async () => {
    let turn = 0;
    let isOver = false;
    const countTurns = (): void => {
      turn += 1;
      if (!isOver) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    const turns: number[] = [];
    const noteTurn = (): unknown => turns.push(turn);
    const begun = Array.from({ length: 4 }, () => Slices.inTurn().then((slices) => (noteTurn(), slices)));
    await Promise.all(begun.map(async (slices) => work(await slices, 3, noteTurn)));
    isOver = true;
    expect(turns).toHaveLength(16);
    expect(new Set(turns).size).toBe(turns.length);
  });

  it('run in the order of arrival', async () => {
    const order: number[] = [];
    await Promise.all(
      [0, 1, 2].map(async (number) => {
        await work(await Slices.inTurn(), 2, () => order.push(number));
      }),
    );
    expect(order).toEqual([0, 1, 2, 0, 1, 2]);
  });

  it('give three turns of four to what writes wait for', async () => {
    const order: string[] = [];
    const readers = [0, 1, 2, 3].map(async () => work(await Slices.inTurn(), 3, () => order.push('reader')));
    const writer = work(Slices.ofWrite(), 30, () => order.push('write'));
    await Promise.all([...readers, writer]);
    const last = order.lastIndexOf('write');
    const between = order.slice(order.indexOf('write'), last).join(' ');
    expect(between).not.toContain('reader reader');
    expect(between).toContain('reader write write write reader write write write reader');
    expect(order.slice(last + 1).length).toBeGreaterThan(2);
  });
});
