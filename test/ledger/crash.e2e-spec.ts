import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../support/markdown';
import { startProgram, type StartedProgram } from '../support/started-program';
import { temporaryDatabase, type TemporaryDatabase } from '../support/temporary-database';

const MAIN = join(ROOT, 'dist', 'main.js');
const CLIENTS = 16;
/** Entities acknowledged before each kill. */
const LOADS = [1, 120, 31, 77];

/** What the clients were told is kept; the program must know all of it after any crash. */
interface Acknowledged {
  /** Revision by id. */
  readonly entities: Map<string, number>;
  /** Entity by claim. */
  readonly claims: Map<string, string>;
  /** Entities whose deletion was sent: whether it took place is known only where it was answered. */
  readonly deletions: Set<string>;
  readonly deleted: Set<string>;
}

describe('The built program, killed under load', () => {
  let database: TemporaryDatabase;
  let program: StartedProgram;
  const acknowledged: Acknowledged = {
    entities: new Map(),
    claims: new Map(),
    deletions: new Set(),
    deleted: new Set(),
  };

  beforeAll(async () => {
    database = await temporaryDatabase();
  });
  afterAll(async () => {
    await program.stop('SIGKILL');
    await database.remove();
  });

  it('loses nothing it acknowledged, verifies, and counts what is there, however often', async () => {
    program = await start();
    for (const load of LOADS) {
      const known = acknowledged.entities.size;
      const clients = Array.from({ length: CLIENTS }, (_unused, number) => useUntilGone(number));
      while (acknowledged.entities.size < known + load) await sleep(1);
      await program.stop('SIGKILL');
      await Promise.all(clients);
      program = await start();
      await expectNothingLost();
      await expectValid();
    }
    await expectCountsToAgree();
  });

  function start(): Promise<StartedProgram> {
    return startProgram(MAIN, { ...database.environment, RATE_LIMIT: '10000000' });
  }

  /** One client: creates, changes, claims and deletes until the connection breaks. */
  async function useUntilGone(client: number): Promise<void> {
    try {
      for (let turn = 0; ; turn += 1) await useOnce(`client ${client}`, turn);
    } catch {
      // The program is gone: what was under way is neither acknowledged nor refused.
    }
  }

  async function useOnce(client: string, turn: number): Promise<void> {
    const { entities, claims, deletions, deleted } = acknowledged;
    const entity = await program.send('POST', '/api/v1/entities', { body: { type: client, name: `turn ${turn}` } });
    const { id } = entity.body;
    entities.set(id, 1);
    const path = `/api/v1/entities/${id}`;
    if (turn % 2 === 0) {
      const claim = await program.send('POST', `${path}/claims`, { body: { predicate: 'turn', value: turn } });
      claims.set(claim.body.id, id);
    }
    if (turn % 3 === 0) {
      const changed = await program.send('PUT', path, { body: { name: 'changed' } });
      entities.set(id, changed.body.revision);
    }
    if (turn % 4 === 0) {
      deletions.add(id);
      if ((await program.send('DELETE', path)).status === 204) deleted.add(id);
    }
  }

  async function expectNothingLost(): Promise<void> {
    const { entities, claims, deletions, deleted } = acknowledged;
    const there = new Map((await all('entities')).map(({ id, revision }) => [id, Number(revision)]));
    const lost = [...entities].filter(([id, revision]) => !deletions.has(id) && (there.get(id) ?? 0) < revision);
    expect(lost).toEqual([]);
    expect([...deleted].filter((id) => there.has(id))).toEqual([]);
    const added = new Set((await all('audit', 'action=claim.added')).map(({ subjectId }) => subjectId));
    expect([...claims.keys()].filter((id) => !added.has(id))).toEqual([]);
    for (const [claim, entity] of [...claims].slice(-20)) {
      const { status } = await program.send('GET', `/api/v1/entities/${entity}/claims/${claim}`);
      expect(status === 404 && !deletions.has(entity)).toBe(false);
    }
  }

  async function expectCountsToAgree(): Promise<void> {
    const entities = await all('entities');
    const actions = (await all('audit')).map(({ action }) => action);
    const claims = (await Promise.all(entities.map(({ id }) => all(`entities/${id}/claims`)))).flat();
    expect((await program.send('GET', '/api/v1/stats')).body).toEqual({
      entities: entities.length,
      claims: claims.length,
      agents: 0,
      decisions: 0,
      policies: 0,
      provenanceEntries: actions.length,
    });
  }

  async function expectValid(): Promise<void> {
    const { provenanceEntries } = (await program.send('GET', '/api/v1/stats')).body;
    const { body } = await program.send('POST', '/api/v1/provenance/verify');
    expect(body).toMatchObject({ valid: true, entriesVerified: provenanceEntries });
  }

  /** Every row of a list, page by page. */
  async function all(path: string, filter = ''): Promise<Record<string, string>[]> {
    const rows: Record<string, string>[] = [];
    let query = `limit=1000&${filter}`;
    for (;;) {
      const { body } = await program.send('GET', `/api/v1/${path}?${query}`);
      rows.push(...body.data);
      if (body.nextCursor === undefined) return rows;
      query = `limit=1000&cursor=${body.nextCursor}`;
    }
  }
});
