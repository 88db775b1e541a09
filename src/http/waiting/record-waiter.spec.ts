import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Caller } from '../../ledger/kinds/caller';
import type { LedgerService } from '../../ledger/ledger.service';
import type { EntryReader } from '../../ledger/reading/entry-reader';
import type { Gates } from '../gates';
import type { ShutdownGuard } from '../server/shutdown';
import { RecordWaiter } from '../reading/record-waiter';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A ledger in which nothing happens. */
const QUIET = {
  head: { sequence: 1 },
  waitBeyond: (_sequence: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
} as unknown as LedgerService;

const CALLER = { agentId: null, refusal: () => null, actor: { type: 'api_key', id: 'key' } } as unknown as Caller;

function waiterWithRoom(): RecordWaiter {
  const gates = { get: () => ({ tryEnter: () => ({ leave: () => undefined }) }) } as unknown as Gates;
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const shutdown = { signal } as unknown as ShutdownGuard;
  return new RecordWaiter(QUIET, {} as EntryReader, shutdown, gates);
}

describe('RecordWaiter', () => {
  it('does not hold an open record while it waits: many waits for large records would fill the memory', async () => {
    const read: WeakRef<object>[] = [];
    const client = new AbortController();
    const waiting = waiterWithRoom().waitForChange({
      caller: CALLER,
      seconds: 60,
      signal: client.signal,
      read: () => {
        const row = { status: 'proposed' };
        read.push(new WeakRef(row));
        return Promise.resolve(row);
      },
      isOpen: () => true,
    });
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    collectGarbage();
    expect(read.map((reference) => reference.deref())).toEqual([undefined]);
    client.abort();
    expect(await waiting).toEqual({ status: 'proposed' });
  });

  it('wakes hundreds of waits a few at a time, or their answers would be made without a pause', async () => {
    const client = new AbortController();
    setMaxListeners(0, client.signal);
    let [reads, reading, mostReading] = [0, 0, 0];
    const waiter = waiterWithRoom();
    const waits = Array.from({ length: 300 }, () =>
      waiter.waitForChange({
        caller: CALLER,
        seconds: 60,
        signal: client.signal,
        read: async () => {
          reads += 1;
          // The first reading of each request begins when the request arrives.
          if (reads <= 300) return 'open';
          reading += 1;
          mostReading = Math.max(mostReading, reading);
          await setImmediate();
          reading -= 1;
          return 'settled';
        },
        isOpen: (status) => status === 'open',
      }),
    );
    await setImmediate();
    client.abort();
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['settled']));
    expect(mostReading).toBe(10);
  });
});
