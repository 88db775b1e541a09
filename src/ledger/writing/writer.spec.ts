import type { CommittedBatch } from './batches';
import type { QueuedCommand } from './commands';
import { SYSTEM_CALLER } from '../kinds/caller';
import { Writer } from './writer';

const MAX_WAIT_MS = 10_000;

describe('The writer', () => {
  let now = 0;
  let writer: Writer;
  /** The batches that it has begun, each with what ends it. */
  let begun: { readonly commands: readonly QueuedCommand[]; readonly end: (batch: Partial<CommittedBatch>) => void }[];
  let refused: unknown[];

  beforeEach(() => {
    now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    [begun, refused] = [[], []];
    const commit = (commands: readonly QueuedCommand[]): Promise<CommittedBatch> =>
      new Promise((resolve) => {
        const end = (batch: Partial<CommittedBatch>): void =>
          resolve({
            outcomes: [],
            rest: [],
            hasEntries: false,
            leavesRows: false,
            ...batch,
          } as unknown as CommittedBatch);
        begun.push({ commands, end });
      });
    const means = [
      { needsProbe: false, hasFailed: false },
      { commit },
      { applied: () => undefined },
      { areDue: false },
      { advance: () => undefined },
      { refusal: null },
    ];
    writer = new Writer(...(means as unknown as ConstructorParameters<typeof Writer>));
  });
  afterEach(() => jest.restoreAllMocks());

  function push(): void {
    const reject = (error: Error): number => refused.push(error);
    writer.push({ caller: SYSTEM_CALLER, command: async () => null, keyed: null, resolve: () => null, reject });
  }

  /** Lets the writer begin the next batch. */
  async function turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }

  it('refuses further commands when too many wait', async () => {
    for (let pushed = 0; pushed < 10_000; pushed += 1) push();
    expect(push).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    await turn();
  });

  it('takes the oldest commands first, and again those that a batch has left', async () => {
    for (now = 1; now <= 2; now += 1) push();
    await turn();
    push();
    const [first, second] = begun[0]?.commands ?? [];
    expect(first?.deadline).toBeLessThan(second?.deadline ?? 0);
    begun[0]?.end({ rest: second === undefined ? [] : [second] });
    await turn();
    expect(begun[1]?.commands).toHaveLength(2);
    expect(begun[1]?.commands[0]).toBe(second);
  });

  it('refuses only commands that have waited too long', async () => {
    push();
    now = 5_000;
    push();
    now = MAX_WAIT_MS;
    writer.watch();
    expect(refused).toEqual([]);
    now = MAX_WAIT_MS + 1;
    writer.watch();
    expect(refused).toEqual([expect.objectContaining({ code: 'UNAVAILABLE' })]);
    expect(writer.waiting).toBe(1);
    await turn();
  });
});
