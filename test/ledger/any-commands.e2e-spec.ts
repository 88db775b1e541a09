import * as fc from 'fast-check';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { CounterReader } from '../../src/ledger/reading/counter-reader';
import type { LedgerTransaction } from '../../src/ledger/commands/ledger-transaction';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { addNote, NOTE, Notes, type Note, NotesModule } from '../support/application/notes.module';

const FIRST_STEPS = ['list'] as const;
const STEPS = ['add', 'move', 'rewrite', 'remove', 'read', 'expectEffect', 'fail', 'breakConstraint'] as const;

/** One step of a command, about a note or a topic. */
interface Step {
  readonly does: (typeof FIRST_STEPS)[number] | (typeof STEPS)[number];
  readonly slug: string;
  readonly topic: string;
}

/** Topic and text by slug: the expected notes. */
type Model = ReadonlyMap<string, { readonly topic: string; readonly text: string }>;

const slug = fc.constantFrom('a', 'b', 'c', 'd');
const topic = fc.constantFrom('red', 'blue');
const firstStep = fc.record({ does: fc.constantFrom(...FIRST_STEPS), slug, topic });
const step = fc.record({ does: fc.constantFrom(...STEPS), slug, topic });
/** All rows of a kind are read before the command changes them. */
const command = fc
  .tuple(fc.array(firstStep, { maxLength: 1 }), fc.array(step, { maxLength: 4 }))
  .map(([first, others]): Step[] => [...first, ...others]);
const turns = fc.array(fc.array(command, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 });

const CHANGED = { action: 'note.changed' };

describe('Commands in batches', () => {
  let app: TestApp;
  let notes: Notes;
  let foreign: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp({ modules: [NotesModule] });
    notes = app.application.get(Notes, { strict: false });
    foreign = await foreignConnection(app);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  it('have the effects and results of running one after another', async () => {
    await fc.assert(
      fc.asyncProperty(turns, async (batches) => {
        let model: Model = await removeAll();
        for (const commands of batches) {
          const results = await Promise.all(commands.map((steps) => resultOf(steps)));
          const expected = commands.map((steps) => {
            const [after, result] = modelled(model, steps);
            model = after;
            return result;
          });
          expect(results).toEqual(expected);
        }
        await expectStored(model);
      }),
      { numRuns: 60 },
    );
    await chainIsValid(app);
  });

  /** Runs a command and returns what it read; null if it failed. */
  function resultOf(steps: readonly Step[]): Promise<unknown[] | null> {
    return notes
      .write(async (transaction) => {
        const read: unknown[] = [];
        for (const one of steps) read.push(await perform(transaction, one));
        return read;
      })
      .catch(() => null);
  }

  async function removeAll(): Promise<Model> {
    await notes.write(async (transaction) => {
      const stored = [
        ...(await transaction.findAll(NOTE, { topic: 'red' })),
        ...(await transaction.findAll(NOTE, { topic: 'blue' })),
      ];
      for (const note of stored) transaction.remove(NOTE, note, { action: 'note.removed' });
    });
    return new Map();
  }

  async function expectStored(model: Model): Promise<void> {
    const stored = await foreign.all<Note>('SELECT * FROM notes ORDER BY slug');
    const modelRows = [...model].sort().map(([name, members]) => ({ slug: name, ...members }));
    expect(stored.map(({ slug: name, topic: about, text }) => ({ slug: name, topic: about, text }))).toEqual(modelRows);
    const topics = modelRows.map(({ topic: about }) => about);
    const counters = await app.application
      .get(CounterReader, { strict: false })
      .read(['notes', 'notes:topic:red', 'notes:topic:blue']);
    const countOf = (name: string): number => topics.filter((about) => about === name).length;
    expect(counters.records).toEqual([modelRows.length, countOf('red'), countOf('blue')]);
  }
});

async function perform(transaction: LedgerTransaction, { does, slug, topic }: Step): Promise<unknown> {
  const note = does === 'list' ? undefined : await transaction.findBy(NOTE, { slug });
  switch (does) {
    case 'fail':
      throw new Error('This command fails.');
    case 'list':
      return (await transaction.findAll(NOTE, { topic })).map((one) => one.slug).sort();
    case 'read':
      return note === undefined ? null : [note.topic, note.text];
    case 'breakConstraint':
      addNote(transaction, 'broken', { topic: null as never });
      return undefined;
    case 'expectEffect':
      transaction.afterCommit(() => undefined);
      return undefined;
    case 'add':
      if (note !== undefined) throw new Error('The slug is taken.');
      addNote(transaction, slug, { topic });
      return undefined;
    case 'remove':
      if (note !== undefined) transaction.remove(NOTE, note, { action: 'note.removed' });
      return undefined;
    case 'move':
      if (note !== undefined) transaction.update(NOTE, { ...note, topic }, CHANGED);
      return undefined;
    case 'rewrite':
      if (note !== undefined) transaction.update(NOTE, { ...note, text: `${note.text}+` }, CHANGED);
      return undefined;
  }
}

/** The notes after a command, and its result, by the literal meaning of its steps. */
function modelled(before: Model, steps: readonly Step[]): [after: Model, result: unknown[] | null] {
  const notes = new Map(before);
  const read: unknown[] = [];
  for (const { does, slug, topic } of steps) {
    const note = notes.get(slug);
    if (does === 'fail' || does === 'breakConstraint' || (does === 'add' && note !== undefined)) return [before, null];
    if (does === 'add') notes.set(slug, { topic, text: '' });
    if (does === 'remove') notes.delete(slug);
    if (does === 'move' && note !== undefined) notes.set(slug, { ...note, topic });
    if (does === 'rewrite' && note !== undefined) notes.set(slug, { ...note, text: `${note.text}+` });
    read.push(answerOf(does, notes, slug, topic));
  }
  return [notes, read];
}

function answerOf(does: Step['does'], notes: Model, slug: string, topic: string): unknown {
  if (does === 'list') return [...notes].flatMap(([name, note]) => (note.topic === topic ? [name] : [])).sort();
  if (does !== 'read') return undefined;
  const note = notes.get(slug);
  return note === undefined ? null : [note.topic, note.text];
}
