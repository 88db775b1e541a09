import { type Caller, SYSTEM_CALLER } from '../kinds/caller';
import { CommandQueue } from './command-queue';
import type { QueuedCommand } from './commands';

describe('The queue of commands', () => {
  let now: number;
  let queue: CommandQueue;

  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    queue = new CommandQueue();
  });
  afterEach(() => jest.restoreAllMocks());

  /** Pushes a command of a caller. Its deadline tells it from others. */
  function push(id: string, deadline: number): void {
    const caller: Caller = { ...SYSTEM_CALLER, actor: { type: 'api_key', id } };
    const ignore = (): null => null;
    queue.push({ caller, command: async () => null, keyed: null, resolve: ignore, reject: ignore, deadline });
  }

  const namesOf = (commands: readonly QueuedCommand[]): string[] =>
    commands.map(({ caller, deadline }) => `${caller.actor.id}${deadline}`);

  it('serves callers in turns, each in order of arrival', () => {
    for (let made = 1; made <= 4; made += 1) push('a', made);
    push('b', 1);
    push('c', 1);
    push('b', 2);
    expect(namesOf(queue.take(100))).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
    expect(queue.length).toBe(0);
  });

  it('lets a caller that arrives later have its turn before the rest of another', () => {
    for (let made = 1; made <= 4; made += 1) push('a', made);
    const [first, ...rest] = queue.take(3);
    push('b', 1);
    expect([first?.deadline, queue.length]).toEqual([1, 2]);
    queue.putBack(rest);
    expect(namesOf(queue.take(3))).toEqual(['a2', 'b1', 'a3']);
    expect(namesOf(queue.take(3))).toEqual(['a4']);
  });

  it('gives up those that have waited too long, wherever they are', () => {
    push('a', 5);
    push('b', 9);
    push('a', 6);
    now = 7;
    expect(namesOf(queue.takeExpired())).toEqual(['a5', 'a6']);
    expect(namesOf(queue.takeExpired())).toEqual([]);
    expect(namesOf(queue.take(3))).toEqual(['b9']);
  });
});
