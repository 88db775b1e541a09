import fc from 'fast-check';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Configuration } from '../../config/configuration';
import { BodyMemory } from './body-memory';
import { BodyReservation } from './body-reservation';

const LARGEST = 100_000;

interface Body {
  readonly client: string;
  readonly length: number;
  readonly isAnnounced: boolean;
}

/** A body being received: what has arrived of it, and whether it is waiting. */
class Coming {
  readonly share: BodyReservation;
  private readonly response = Object.assign(new EventEmitter(), { req: new EventEmitter(), end: () => undefined });
  private arrived = 0;
  private hasBegun = false;
  isWaiting = false;

  constructor(
    readonly body: Body,
    room: BodyMemory,
  ) {
    const most = body.isAnnounced ? body.length : LARGEST;
    this.share = new BodyReservation(room, body.client, this.response as unknown as ServerResponse, most);
  }

  get isWhole(): boolean {
    return this.arrived === this.body.length && !this.isWaiting;
  }

  /** The next step of a reader. */
  feed(chunk: number): void {
    if (this.hasBegun) this.arrived = Math.min(this.body.length, this.arrived + chunk);
    const isAnnouncing = !this.hasBegun && this.body.isAnnounced;
    const turn = isAnnouncing ? this.share.begin() : this.share.grow(this.arrived);
    this.hasBegun = true;
    if (turn !== null) this.waitFor(turn);
  }

  answer(): void {
    this.response.end();
  }

  private waitFor(turn: Promise<void>): void {
    this.isWaiting = true;
    void turn.then(() => (this.isWaiting = false));
  }
}

describe('BodyMemory', () => {
  it('admits every body, in whatever pieces they arrive, and exceeds its size by two bodies at most', async () => {
    const body = fc.record({
      client: fc.constantFrom('a', 'b', 'c'),
      length: fc.integer({ min: 1, max: LARGEST }),
      isAnnounced: fc.boolean(),
    });
    const bodies = fc.array(body, { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(
        bodies,
        fc.integer({ min: 1, max: 4 * LARGEST }),
        fc.infiniteStream(fc.nat()),
        async (all, size, choices) => {
          const room = new BodyMemory({ bodyTotalLimit: size } as Configuration);
          const coming = new Set(all.map((one) => new Coming(one, room)));
          while (coming.size > 0) {
            const ready = [...coming].filter(({ isWaiting }) => !isWaiting);
            const choice = choices.next().value ?? 0;
            const next = ready[choice % ready.length];
            if (next === undefined) throw new Error('All of them wait for ever.');
            if (next.isWhole) {
              next.answer();
              coming.delete(next);
            } else {
              next.feed((choice % 40_000) + 1);
            }
            // One that proceeds where all the others wait, and one in the place of its own.
            expect(room.heldBytes).toBeLessThanOrEqual(size + 2 * LARGEST);
            // Let a waiter that was admitted notice.
            for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
          }
          expect([room.heldBytes, room.waiting]).toEqual([0, 0]);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is exceeded no further by bodies that wait for the place of their own, however many come', async () => {
    const size = LARGEST / 2;
    const room = new BodyMemory({ bodyTotalLimit: size } as Configuration);
    const clients = Array.from({ length: 50 }, (_, index) => `client ${index}`);
    const coming = clients.map((client) => new Coming({ client, length: LARGEST, isAnnounced: false }, room));
    for (const one of coming) {
      while (!one.isWaiting) one.feed(30_000);
      // Let the first move to the place of its own.
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    }
    expect(room.heldBytes).toBeLessThanOrEqual(size + 2 * LARGEST);
    expect(room.waiting).toBeGreaterThan(40);
    for (const one of coming) one.answer();
  });
});
