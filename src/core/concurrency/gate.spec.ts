import fc from 'fast-check';
import { Gate, type GateSettings, type Pass } from './gate';

const SETTINGS: GateSettings = { label: 'things', most: 10, mostEach: 6, mostWaiting: 3, longest: Infinity };

interface Entered {
  readonly who: string;
  readonly weight: number;
  readonly signal: AbortController;
  pass: Pass | null;
  held: number;
  isRefused: boolean;
}

type Step =
  | { readonly kind: 'enter' | 'try'; readonly who: string; readonly weight: number }
  | { readonly kind: 'leave' | 'shrink' | 'abort'; readonly which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom<'enter' | 'try'>('enter', 'enter', 'try'),
    who: fc.constantFrom('a', 'b', 'c'),
    weight: fc.integer({ min: 1, max: 8 }),
  }),
  fc.record({
    kind: fc.constantFrom<'leave' | 'shrink' | 'abort'>('leave', 'leave', 'shrink', 'abort'),
    which: fc.nat(),
  }),
);

/** A model of the gate, derived from the list of all requests that came. */
class Model {
  readonly all: Entered[] = [];
  /** Requests that must wait, in order of arrival. */
  readonly queue: Entered[] = [];
  private clients: string[] = [];

  get inside(): Entered[] {
    return this.all.filter(({ pass }) => pass !== null);
  }

  get waiting(): Entered[] {
    return this.queue.filter(({ pass, isRefused }) => pass === null && !isRefused);
  }

  heldBy(who?: string): number {
    return this.inside.reduce((sum, entered) => sum + (who === undefined || entered.who === who ? entered.held : 0), 0);
  }

  waits(entered: Entered): void {
    const isFirst = this.waiting.every(({ who }) => who !== entered.who);
    this.queue.push(entered);
    if (isFirst) this.toEnd(entered);
  }

  /** Moves a client that has entered to the end, because clients take turns. */
  toEnd({ who }: Entered): void {
    this.clients = [...this.clients.filter((other) => other !== who), who];
  }

  /** The first request of the first client that has room; undefined if there is none. */
  get next(): Entered | undefined {
    const first = this.clients.flatMap((client) => this.waiting.find(({ who }) => who === client) ?? []);
    return first.find(({ who, weight }) => this.heldBy(who) + weight <= SETTINGS.mostEach);
  }
}

async function perform(gate: Gate, model: Model, action: Step): Promise<void> {
  if ('who' in action) {
    const { who } = action;
    const weight = Math.min(action.weight, SETTINGS.mostEach);
    const entered: Entered = {
      who,
      weight,
      signal: new AbortController(),
      pass: null,
      held: weight,
      isRefused: false,
    };
    if (action.kind === 'try') {
      entered.pass = gate.tryEnter(who, action.weight);
      entered.isRefused = entered.pass === null;
    } else {
      const signal = entered.signal.signal;
      gate.enter(who, { weight: action.weight, signal }).then(
        (pass) => {
          entered.pass = pass;
          if (model.queue.includes(entered)) model.toEnd(entered);
        },
        () => (entered.isRefused = true),
      );
    }
    model.all.push(entered);
  } else if (action.kind === 'abort') {
    const { waiting } = model;
    waiting[action.which % waiting.length]?.signal.abort(new Error('It has left.'));
  } else {
    const { inside } = model;
    const chosen = inside[action.which % inside.length];
    if (chosen === undefined) return;
    chosen.held = action.kind === 'leave' ? 0 : Math.max(chosen.held - 2, 0);
    chosen.pass?.shrink(chosen.held);
    // Giving back again changes nothing.
    if (action.kind === 'leave') chosen.pass?.leave();
  }
  // Admitted and refused requests learn their result in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  const newest = model.all.at(-1);
  if ('who' in action && newest?.pass === null && !newest.isRefused) model.waits(newest);
}

describe('Gate', () => {
  it('never lets in more than there is room for, and lets the first in whose client has room', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const gate = new Gate(SETTINGS);
        const model = new Model();
        for (const action of steps) {
          await perform(gate, model, action);
          expect(gate.held).toBe(model.heldBy());
          expect(gate.held).toBeLessThanOrEqual(SETTINGS.most);
          for (const who of ['a', 'b', 'c']) expect(model.heldBy(who)).toBeLessThanOrEqual(SETTINGS.mostEach);
          expect(gate.waiting).toBe(model.waiting.length);
          for (const who of ['a', 'b', 'c'])
            expect(model.waiting.filter((waiting) => waiting.who === who).length).toBeLessThanOrEqual(
              SETTINGS.mostWaiting,
            );
          // The next request waits only because there is no room.
          const { next } = model;
          if (next !== undefined) expect(gate.held + next.weight).toBeGreaterThan(SETTINGS.most);
        }
        while (model.heldBy() > 0 || model.waiting.length > 0) {
          for (const { pass } of model.inside) pass?.leave();
          model.inside.forEach((entered) => (entered.held = 0));
          await new Promise((resolve) => setImmediate(resolve));
        }
        expect([gate.held, gate.waiting]).toEqual([0, 0]);
      }),
    );
  });

  it('admits in order of arrival', async () => {
    const gate = new Gate({ ...SETTINGS, most: 1, mostEach: 1 });
    const order: number[] = [];
    const first = await gate.enter('');
    const others = [1, 2, 3].map((place) => gate.run(`${place}`, () => Promise.resolve(order.push(place))));
    expect(gate.tryEnter('b')).toBeNull();
    first.leave();
    await Promise.all(others);
    expect(order).toEqual([1, 2, 3]);
    expect(gate.held).toBe(0);
  });

  it('lets clients take turns: one that enters again and again holds up no other', async () => {
    const gate = new Gate({ ...SETTINGS, most: 1, mostEach: 1 });
    const order: string[] = [];
    const first = await gate.enter('a');
    const others = ['a', 'a', 'a', 'b', 'c', 'b'].map((who) => gate.run(who, () => Promise.resolve(order.push(who))));
    await expect(gate.enter('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    first.leave();
    await Promise.all(others);
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a']);
  });

  it('refuses whoever comes when too many wait, has waited too long, or has left', async () => {
    const gate = new Gate({ ...SETTINGS, most: 1, mostEach: 1, mostWaiting: 1, longest: 20 });
    const pass = await gate.enter('a');
    const late = gate.enter('b');
    await expect(gate.enter('b')).rejects.toMatchObject({ code: 'UNAVAILABLE', message: /Too many things/ });
    await expect(late).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const reason = new Error('It has left.');
    await expect(gate.enter('d', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(gate.waiting).toBe(0);
    pass.leave();
    expect(gate.tryEnter('e')).not.toBeNull();
  });

  it('is left by work that fails', async () => {
    const gate = new Gate(SETTINGS);
    await expect(gate.run('a', () => Promise.reject(new Error('It failed.')))).rejects.toThrow('It failed.');
    expect(gate.held).toBe(0);
  });
});
