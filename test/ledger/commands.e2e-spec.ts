import { setTimeout as sleep } from 'node:timers/promises';
import { conflict } from '../../src/core/errors/domain-error';
import type { JsonObject } from '../../src/core/json/json-value';
import { CLAIM } from '../../src/governance/entities/claim.entity';
import { ENTITY } from '../../src/governance/entities/governed-entity.entity';
import { SYSTEM_CALLER } from '../../src/ledger/kinds/caller';
import { CounterReader } from '../../src/ledger/reading/counter-reader';
import type { LedgerWriter } from '../../src/ledger/ledger.service';
import { byId, byKey, type Lookup } from '../../src/ledger/kinds/lookup';
import { Refusal, type LedgerTransaction } from '../../src/ledger/commands/ledger-transaction';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, auditOf, chainIsValid, createEntity } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { addNote, NOTE, type Note, Notes, NotesModule } from '../support/application/notes.module';

/** Milliseconds; a server ends a session that is idle in a transaction for 2.5 seconds. */
const LONG = 4_000;

const ADDED = { action: 'note.added' };
const CHANGED = { action: 'note.changed' };
const REMOVED = { action: 'note.removed' };

/** Commands passed to the ledger in one iteration of the event loop share a batch. */
describe('Commands in one batch', () => {
  let app: TestApp;
  let notes: Notes;
  let foreign: SqlConnection;

  beforeAll(async () => {
    app = await createTestApp({ modules: [NotesModule] });
    notes = app.application.get(Notes, { strict: false });
    foreign = await foreignConnection(app);
  });
  afterEach(() => expectConsistency());
  afterAll(async () => {
    await foreign.close();
    await app.close();
  });

  let slugs = 0;
  const newSlug = (): string => `slug-${(slugs += 1)}`;

  /** Checks that the chain is unbroken, the counters are right, and every row is as its last entry says. */
  async function expectConsistency(): Promise<void> {
    await chainIsValid(app);
    const stored = await foreign.all<Note>('SELECT * FROM notes ORDER BY "createdSequence"');
    const counters = await app.application.get(CounterReader, { strict: false }).read(['notes', 'notes:topic:any']);
    expect(counters.records).toEqual([stored.length, stored.filter(({ topic }) => topic === 'any').length]);
    const states = await foreign.all<{ state: string | null }>(
      `SELECT state FROM ledger_entries AS entry WHERE "subjectType" = 'note' AND state IS NOT NULL AND sequence =
        (SELECT max(sequence) FROM ledger_entries WHERE "subjectId" = entry."subjectId") ORDER BY "subjectId"`,
    );
    expect(states.map(({ state }) => JSON.parse(String(state)))).toEqual(
      stored.map(({ id, slug, topic, text }) => ({ id, slug, topic, text })),
    );
  }

  async function entriesSince(sequence: number): Promise<string[]> {
    const sql = `SELECT action FROM ledger_entries WHERE sequence > $1 ORDER BY sequence`;
    return (await foreign.all<{ action: string }>(sql, [sequence])).map(({ action }) => action);
  }

  async function requireNote(transaction: LedgerTransaction, slug: string): Promise<Note> {
    const note = await transaction.findBy(NOTE, { slug });
    if (note === undefined) throw new Error(`There is no note ${slug}.`);
    return note;
  }

  it("read each other's writes, which no reader sees before they are committed", async () => {
    const slug = newSlug();
    const [added, read] = await Promise.all([
      notes.add(slug, { text: 'first' }),
      notes.write(async (transaction) => {
        const note = await requireNote(transaction, slug);
        expect(await transaction.find(NOTE, note.id)).toEqual(note);
        expect(await notes.reader.find(NOTE, note.id)).toBeUndefined();
        return transaction.update(NOTE, { ...note, text: 'second' }, CHANGED);
      }),
      notes.write(async (transaction) => {
        const note = await requireNote(transaction, slug);
        expect(note.text).toBe('second');
        transaction.update(NOTE, { ...note, text: 'third', topic: 'other' }, CHANGED);
      }),
    ]);
    expect(read).toEqual({ ...added, text: 'second' });
    expect(await notes.reader.findBy(NOTE, { slug })).toEqual({ ...added, text: 'third', topic: 'other' });
  });

  it('whose lookups were announced find the same rows as without', async () => {
    const [slug, missing] = [newSlug(), newSlug()];
    const existingNote = await notes.add(newSlug());
    const withLookups = (...lookups: Lookup[]): LedgerWriter => notes.ledger.withLookups(...lookups);
    const [added, seen, none, changed, seenChanged, afterFlush] = await Promise.all([
      notes.add(slug),
      withLookups(byKey(NOTE, 'slug', slug)).write(SYSTEM_CALLER, (transaction) => requireNote(transaction, slug)),
      withLookups(byKey(NOTE, 'slug', missing)).write(SYSTEM_CALLER, (transaction) =>
        transaction.findBy(NOTE, { slug: missing }),
      ),
      withLookups(byKey(NOTE, 'slug', existingNote.slug)).write(SYSTEM_CALLER, async (transaction) =>
        transaction.update(NOTE, { ...(await requireNote(transaction, existingNote.slug)), text: 'changed' }, CHANGED),
      ),
      withLookups(byId(NOTE, existingNote.id)).write(SYSTEM_CALLER, (transaction) =>
        transaction.find(NOTE, existingNote.id),
      ),
      withLookups(byId(NOTE, existingNote.id)).write(SYSTEM_CALLER, async (transaction) => {
        await transaction.findAll(NOTE, { topic: 'none' });
        return transaction.find(NOTE, existingNote.id);
      }),
    ]);
    expect(seen).toEqual(added);
    expect(none).toBeUndefined();
    expect(changed).toEqual({ ...existingNote, text: 'changed' });
    expect([seenChanged, afterFlush]).toEqual([changed, changed]);
  });

  it('find what earlier ones wrote while that is sent to the database for another of their reads', async () => {
    const existingNote = await notes.add(newSlug());
    const [changed, reads] = await Promise.all([
      notes.write(async (transaction) => {
        const note = await transaction.find(NOTE, existingNote.id);
        return transaction.update(NOTE, { ...existingNote, ...note, text: 'changed' }, CHANGED);
      }),
      notes.write((transaction) =>
        Promise.all([
          transaction.findAll(NOTE, { topic: 'none' }),
          transaction.find(NOTE, existingNote.id),
          transaction.findBy(NOTE, { slug: existingNote.slug }),
        ]),
      ),
    ]);
    expect(reads).toEqual([[], changed, changed]);
  });

  it('are answered once they are on disk, and are then visible to everybody', async () => {
    const note = await notes.add(newSlug());
    expect(await foreign.all('SELECT * FROM notes WHERE id = $1', [note.id])).toEqual([note]);
    expect(await notes.repository.findOneBy({ slug: note.slug })).toEqual(note);
  });

  it('that throw leave nothing, and do not affect the others', async () => {
    const [first, bad, last] = [newSlug(), newSlug(), newSlug()];
    const before = notes.ledger.head.sequence;
    const results = await Promise.allSettled([
      notes.add(first),
      notes.write(async (transaction) => {
        addNote(transaction, bad);
        const neighbour = await requireNote(transaction, first);
        transaction.update(NOTE, { ...neighbour, text: 'spoilt' }, CHANGED);
        throw conflict('This command changes its mind.');
      }),
      notes.write(async (transaction) => {
        expect(await transaction.findBy(NOTE, { slug: bad })).toBeUndefined();
        expect((await requireNote(transaction, first)).text).toBe('');
        return addNote(transaction, last);
      }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'CONFLICT' } });
    expect(await entriesSince(before)).toEqual(['note.added', 'note.added']);
    expect(await notes.reader.findBy(NOTE, { slug: bad })).toBeUndefined();
  });

  it('that violate a constraint fail alone, however many there are', async () => {
    const takenSlug = newSlug();
    await notes.add(takenSlug);
    const before = notes.ledger.head.sequence;
    const isBad = (index: number): boolean => index % 7 === 3;
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, (_unused, index) => notes.add(isBad(index) ? takenSlug : newSlug())),
    );
    expect(results.map(({ status }) => status)).toEqual(
      results.map((_result, index) => (isBad(index) ? 'rejected' : 'fulfilled')),
    );
    expect(await entriesSince(before)).toHaveLength(results.filter((_result, index) => !isBad(index)).length);
  });

  it('that together violate a constraint: the first one succeeds', async () => {
    const slug = newSlug();
    const results = await Promise.allSettled([notes.add(slug), notes.add(slug), notes.add(newSlug())]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('that leave a dangling reference fail alone', async () => {
    const before = notes.ledger.head.sequence;
    const claim = { entityId: 'ent_none', predicate: 'p', predicateKey: 'p', value: 1, context: {}, createdAt: 'now' };
    const results = await Promise.allSettled([
      notes.add(newSlug()),
      notes.write(async (transaction) =>
        transaction.insert(CLAIM, { id: transaction.newId(CLAIM), ...claim }, { action: 'claim.added' }),
      ),
      notes.add(newSlug()),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await entriesSince(before)).toEqual(['note.added', 'note.added']);
  });

  it.each<[what: string, fault: (transaction: LedgerTransaction) => unknown]>([
    ['details that are not JSON', (transaction) => insert(transaction, {}, { number: NaN })],
    ['a column without a value', (transaction) => insert(transaction, { topic: undefined })],
    ['a value of another type', (transaction) => insert(transaction, { text: 7 })],
  ])('that write %s leave nothing', async (_what, fault) => {
    const before = notes.ledger.head.sequence;
    const results = await Promise.allSettled([
      notes.add(newSlug()),
      notes.write(async (transaction) => fault(transaction)),
      notes.add(newSlug()),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await entriesSince(before)).toEqual(['note.added', 'note.added']);
  });

  it('that continue after their own fault keep only changes that have an entry', async () => {
    const before = notes.ledger.head.sequence;
    await notes.write(async (transaction) => {
      expect(() => insert(transaction, {}, { number: NaN })).toThrow(TypeError);
      return addNote(transaction, newSlug());
    });
    expect(await entriesSince(before)).toEqual(['note.added']);
  });

  function insert(transaction: LedgerTransaction, members: object, details: JsonObject = {}): void {
    const note = { id: transaction.newId(NOTE), slug: newSlug(), topic: 'any', text: '' };
    transaction.insert(NOTE, { ...note, ...members }, { ...ADDED, details });
  }

  it('that are refused keep their entry and change nothing, and the caller gets the error', async () => {
    const { id, slug } = await notes.add(newSlug());
    const refusal = notes.write(async (transaction) => {
      transaction.record(NOTE, await requireNote(transaction, slug), { action: 'note.denied', outcome: 'denied' });
      return new Refusal(conflict('Not now.'));
    });
    await expect(refusal).rejects.toMatchObject({ code: 'CONFLICT', message: 'Not now.' });
    expect((await auditOf(app, id)).map(({ action }) => action)).toEqual(['note.added', 'note.denied']);
  });

  it('that create and remove a row leave no row, but both entries', async () => {
    const slug = newSlug();
    const before = notes.ledger.head.sequence;
    await Promise.all([
      notes.add(slug),
      notes.write(async (transaction) => transaction.remove(NOTE, await requireNote(transaction, slug), REMOVED)),
      notes.write(async (transaction) => expect(await transaction.findBy(NOTE, { slug })).toBeUndefined()),
    ]);
    expect(await entriesSince(before)).toEqual(['note.added', 'note.removed']);
    expect(await notes.reader.findBy(NOTE, { slug })).toBeUndefined();
  });

  it('that remove a row release its unique values', async () => {
    const slug = newSlug();
    const first = await notes.add(slug);
    const [, , third] = await Promise.all([
      notes.write(async (transaction) => transaction.remove(NOTE, await requireNote(transaction, slug), REMOVED)),
      notes.add(slug, { text: 'second' }),
      notes.write(async (transaction) => {
        const second = await requireNote(transaction, slug);
        transaction.remove(NOTE, second, REMOVED);
        expect(await transaction.findBy(NOTE, { slug })).toBeUndefined();
        expect(await transaction.find(NOTE, second.id)).toBeUndefined();
        return addNote(transaction, slug, { text: 'third' });
      }),
    ]);
    expect(third.id > first.id).toBe(true);
    expect(await notes.reader.findBy(NOTE, { slug })).toEqual(third);
  });

  it('that read all rows of a kind see earlier commands, but none that failed', async () => {
    const topic = newSlug();
    const results = await Promise.allSettled([
      notes.add('one', { topic }),
      notes.write(async (transaction) => {
        addNote(transaction, 'two', { topic });
        throw new Error('This one fails.');
      }),
      notes.add('three', { topic }),
      notes.write(async (transaction) => (await transaction.findAll(NOTE, { topic })).map(({ slug }) => slug)),
    ]);
    expect(results[3]).toEqual({ status: 'fulfilled', value: ['one', 'three'] });
  });

  it("that remove a record's dependent rows leave none visible to later commands", async () => {
    const { id: entityId } = await createEntity(app);
    const claim = await addClaim(app, entityId);
    const [removed, claimLeft, others] = await Promise.all([
      notes.write(async (transaction) => {
        const entity = await transaction.find(ENTITY, entityId);
        const count = await transaction.removeWithOwner(CLAIM, entityId);
        if (entity !== undefined) transaction.remove(ENTITY, entity, { action: 'entity.deleted', entityId });
        return count;
      }),
      notes.write(async (transaction) => transaction.find(CLAIM, claim.id)),
      notes.write(async (transaction) => transaction.removeWithOwner(CLAIM, entityId)),
    ]);
    expect([removed, claimLeft, others]).toEqual([1, undefined, 0]);
  });

  it("that remove a record's dependent rows and then fail leave them all", async () => {
    const { id: entityId } = await createEntity(app);
    const claim = await addClaim(app, entityId);
    const before = notes.ledger.head.sequence;
    const failing = notes.write(async (transaction) => {
      expect(await transaction.removeWithOwner(CLAIM, entityId)).toBe(1);
      throw new Error('This one fails.');
    });
    await expect(failing).rejects.toThrow('This one fails.');
    expect(await foreign.all('SELECT id FROM claims WHERE "entityId" = $1', [entityId])).toEqual([{ id: claim.id }]);
    expect(notes.ledger.head.sequence).toBe(before);
  });

  it('have their effects applied after the commit and before a later command runs', async () => {
    const slug = newSlug();
    const seen: string[] = [];
    await Promise.all([
      notes.write(async (transaction) => {
        addNote(transaction, slug);
        transaction.afterCommit(() => seen.push('effect'));
        seen.push('command');
      }),
      notes.write(async (transaction) => {
        seen.push('next');
        const { id } = await requireNote(transaction, slug);
        expect(await notes.reader.find(NOTE, id)).toBeDefined();
      }),
    ]);
    expect(seen).toEqual(['command', 'effect', 'next']);
  });

  it('may work for longer than a session may be idle, as long as they get on', async () => {
    const added = Array.from({ length: 8 }, newSlug);
    await notes.write(async (transaction) => {
      for (const slug of added) {
        addNote(transaction, slug);
        await sleep(LONG / added.length);
      }
    });
    for (const slug of added) expect(await notes.reader.findBy(NOTE, { slug })).toBeDefined();
  });

  it('that throw have no effects', async () => {
    const effect = jest.fn();
    const failing = notes.write(async (transaction) => {
      transaction.afterCommit(effect);
      throw new Error('This one fails.');
    });
    await expect(failing).rejects.toThrow('This one fails.');
    expect(effect).not.toHaveBeenCalled();
  });

  it('cannot change a row they have not read', async () => {
    const note = await notes.add(newSlug());
    const blind = notes.write(async (transaction) => transaction.update(NOTE, { ...note, text: 'x' }, CHANGED));
    await expect(blind).rejects.toThrow('without being read first');
  });

  it('cannot change or remove a row they have removed', async () => {
    const { slug } = await notes.add(newSlug());
    for (const again of ['update', 'remove'] as const) {
      const twice = notes.write(async (transaction) => {
        const note = await requireNote(transaction, slug);
        transaction.remove(NOTE, note, REMOVED);
        transaction[again](NOTE, note, CHANGED);
      });
      await expect(twice).rejects.toThrow('without being read first');
    }
    expect(await notes.reader.findBy(NOTE, { slug })).toBeDefined();
  });

  it('cannot use their transaction once they have returned', async () => {
    const transaction = await notes.write(async (left) => left);
    expect(() => addNote(transaction, newSlug())).toThrow('after it had ended');
  });

  it('that do nothing leave nothing', async () => {
    const before = notes.ledger.head;
    expect(await notes.write(async () => 7)).toBe(7);
    expect(notes.ledger.head).toEqual(before);
  });

  it('have times and ids that never go back, even if the clock does', async () => {
    const first = await notes.add(newSlug());
    await moveTime(-86_400_000);
    const adding = notes.add(newSlug());
    await adding.catch(() => undefined);
    await restoreTime();
    const second = await adding;
    const third = await notes.add(newSlug());
    const [one, two, three] = await Promise.all([first, second, third].map(({ id }) => auditOf(app, id)));
    const [before, during, after] = [one?.[0], two?.[0], three?.[0]];
    expect(during?.timestamp).toBe(before?.timestamp);
    expect(String(after?.timestamp) >= String(during?.timestamp)).toBe(true);
    expect(first.id < second.id && second.id < third.id).toBe(true);
    expect(String(before?.id) < String(during?.id) && String(during?.id) < String(after?.id)).toBe(true);
  });
});
