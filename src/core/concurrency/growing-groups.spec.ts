import { setImmediate as turn } from 'node:timers/promises';
import { takeInGroups } from './growing-groups';

const ITEMS = Array.from({ length: 20 }, (_, index) => index);

describe('Items that are taken in groups', () => {
  let taken: number[][];
  let now: number;

  beforeEach(() => {
    [taken, now] = [[], 0];
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => jest.restoreAllMocks());

  /** Returns how many items each group has, if each item takes so many milliseconds. */
  async function sizes(milliseconds: number, isStopping?: () => boolean): Promise<number[]> {
    let group: number[] | null = null;
    const take = async (item: number): Promise<void> => {
      if (group === null) taken.push((group = []));
      group.push(item);
      await turn();
      now += milliseconds;
      group = null;
    };
    await takeInGroups(ITEMS, take, isStopping);
    return taken.map(({ length }) => length);
  }

  it('are more and more, each taken once', async () => {
    expect(await sizes(1)).toEqual([1, 2, 4, 8, 5]);
    expect(taken.flat()).toEqual(ITEMS);
  });

  it('are taken one at a time where each takes long', async () => {
    expect(await sizes(60)).toEqual(ITEMS.map(() => 1));
  });

  it('are fewer again after a group that took long', async () => {
    expect(await sizes(20)).toEqual([1, 2, 4, 1, 2, 4, 1, 2, 3]);
    expect(taken.flat()).toEqual(ITEMS);
  });

  it('are left after the group during which the end came', async () => {
    expect(await sizes(1, () => taken.length === 2)).toEqual([1, 2]);
  });

  it('are left after an error', async () => {
    const take = async (item: number): Promise<void> => {
      taken.push([item]);
      if (item === 1) throw new Error('The disk is full.');
    };
    await expect(takeInGroups(ITEMS, take)).rejects.toThrow('The disk is full.');
    expect(taken).toEqual([[0], [1], [2]]);
  });
});
