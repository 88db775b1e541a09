import { Slices } from './slices';

/** Works for so many slices, and notes the turn of the loop in which each of them began. */
async function work(slices: Slices, count: number, noteTurn: () => void): Promise<void> {
  for (let slice = 0; slice < count; slice += 1) {
    while (!slices.areDue);
    await slices.next();
    noteTurn();
  }
}

describe('Slices', () => {
  it('do one slice in each turn of the event loop, whoever it is of', async () => {
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

  it('get their turns in the order in which they came', async () => {
    const order: number[] = [];
    await Promise.all(
      [0, 1, 2].map(async (number) => {
        await work(await Slices.inTurn(), 2, () => order.push(number));
      }),
    );
    expect(order).toEqual([0, 1, 2, 0, 1, 2]);
  });
});
