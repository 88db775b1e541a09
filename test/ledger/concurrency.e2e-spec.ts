import { DataSource } from 'typeorm';
import { ChainVerifier } from '../../src/evidence/verification/chain-verifier';
import { EntryReader } from '../../src/ledger/reading/entry-reader';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { onPostgres } from '../support/database/database-kind';
import { addClaim, chainIsValid, createAgent, createEntity } from '../support/application/factories';
import { NotesModule } from '../support/application/notes.module';
import { send, type Answer } from '../support/application/send';

describe('Writes at once', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp();
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });

  const runTogether = <Value>(count: number, make: (index: number) => Promise<Value>): Promise<Value[]> =>
    Promise.all(Array.from({ length: count }, (_unused, index) => make(index)));

  it('are all stored: none of 500 is lost, and the chain is unbroken', async () => {
    const created = await runTogether(500, (index) => createEntity(app, { name: `entity ${index}` }));
    const { data, total } = (await send(app, 'GET', '/api/v1/entities?limit=1000')).body;
    expect(total).toBe(500);
    expect(new Set(data.map(({ id }: { id: string }) => id))).toEqual(new Set(created.map(({ id }) => id)));
    const entries = (await send(app, 'GET', '/api/v1/provenance?limit=1000')).body.data;
    expect(entries.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
      created.map((_one, index) => index + 1),
    );
    expect((await send(app, 'GET', '/api/v1/stats')).body).toMatchObject({ entities: 500, provenanceEntries: 500 });
  });

  it('assign a name once: of 50 creations of an agent with one name one is 201, the rest 409', async () => {
    const answers = await runTogether(50, () =>
      send(app, 'POST', '/api/v1/agents', { body: { name: 'the only one' } }),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(49);
    expect((await send(app, 'GET', '/api/v1/agents')).body.total).toBe(1);
    expect((await send(app, 'GET', '/api/v1/stats')).body).toMatchObject({ agents: 1, provenanceEntries: 1 });
  });

  it('are immediately visible to the client that got the answer', async () => {
    await runTogether(100, async (index) => {
      const { id } = await createEntity(app, { type: `type ${index}` });
      expect((await send(app, 'GET', `/api/v1/entities/${id}`)).status).toBe(200);
      expect((await send(app, 'GET', `/api/v1/entities?type=type%20${index}`)).body.total).toBe(1);
      expect((await send(app, 'PUT', `/api/v1/entities/${id}`, { body: { name: 'x' } })).body.revision).toBe(2);
      expect((await send(app, 'GET', `/api/v1/entities/${id}`)).body.revision).toBe(2);
    });
  });

  it('to one record are serialised: every revision occurs once', async () => {
    const { id } = await createEntity(app);
    const answers = await runTogether(60, (index) =>
      send(app, 'PUT', `/api/v1/entities/${id}`, { body: { name: `name ${index}` } }),
    );
    const revisions = answers.map(({ body }) => Number(body.revision));
    expect(revisions.sort((a, b) => a - b)).toEqual(answers.map((_answer, index) => index + 2));
  });

  it('of claims and the removal of their entity leave no claim', async () => {
    const { id } = await createEntity(app);
    await addClaim(app, id);
    const answers = await runTogether(40, (index) =>
      index === 20
        ? send(app, 'DELETE', `/api/v1/entities/${id}`)
        : send(app, 'POST', `/api/v1/entities/${id}/claims`, { body: { predicate: 'p', value: index } }),
    );
    const added = answers.filter(({ status }) => status === 201).length + 1;
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(40 - added);
    const [deletion] = (await send(app, 'GET', '/api/v1/audit?action=entity.deleted')).body.data;
    expect(deletion.details).toEqual({ claims: added });
    expect((await send(app, 'GET', '/api/v1/stats')).body).toMatchObject({ entities: 0, claims: 0 });
  });

  it('that a rule refuses leave no trace among others that succeed', async () => {
    const answers = await runTogether(60, (index) => {
      if (index % 3 === 0) return createAgent(app, { name: `agent ${index}` }).then(() => 201);
      const path = index % 3 === 1 ? '/api/v1/entities/none' : '/api/v1/entities/none/claims/none';
      return send(app, index % 3 === 1 ? 'PUT' : 'DELETE', path, { body: { name: 'x' } }).then(({ status }) => status);
    });
    expect(answers.filter((status) => status === 404)).toHaveLength(40);
    expect((await send(app, 'GET', '/api/v1/stats')).body).toMatchObject({ agents: 20, provenanceEntries: 20 });
  });

  it('are counted in totals that always agree with their page', async () => {
    const written = new AbortController();
    const writing = runTogether(200, (index) => createEntity(app, { type: index % 2 === 0 ? 'even' : 'odd' })).finally(
      () => written.abort(),
    );
    while (!written.signal.aborted) {
      const { data, total } = (await send(app, 'GET', '/api/v1/entities?limit=1000')).body;
      expect(data).toHaveLength(total);
      const odd = (await send(app, 'GET', '/api/v1/entities?limit=1000&type=odd')).body;
      expect(odd.data).toHaveLength(odd.total);
      const { entities, provenanceEntries } = (await send(app, 'GET', '/api/v1/stats')).body;
      expect(entities).toBe(provenanceEntries);
    }
    await writing;
  });
});

describe('Verification', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp();
  });
  afterEach(() => app.close());

  const verify = (): Promise<Answer> => send(app, 'POST', '/api/v1/provenance/verify');

  it('is valid and accurate during writes', async () => {
    const written = new AbortController();
    const writing = Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let made = 0; made < 60; made += 1) await createEntity(app);
      }),
    ).finally(() => written.abort());
    let verified = 0;
    while (!written.signal.aborted) {
      const { body } = await verify();
      expect(body).toMatchObject({ valid: true, brokenLinks: 0, invalidHashes: 0, firstInvalid: null });
      expect(body.entriesVerified).toBe(body.head.sequence);
      expect(body.entriesVerified).toBeGreaterThanOrEqual(verified);
      verified = body.entriesVerified;
    }
    await writing;
    expect((await verify()).body.entriesVerified).toBe(480);
  });

  it('includes what the caller has just written', async () => {
    await Promise.all(
      Array.from({ length: 30 }, async () => {
        await createEntity(app);
        const [{ sequence }] = (await send(app, 'GET', '/api/v1/provenance?order=desc&limit=1')).body.data;
        expect((await verify()).body.entriesVerified).toBeGreaterThanOrEqual(sequence);
      }),
    );
  });

  it('is shared by calls that arrive while one runs: they get the result of the next run', async () => {
    await createEntity(app);
    const runs = jest.spyOn(app.application.get(EntryReader), 'extent');
    const verifier = app.application.get(ChainVerifier, { strict: false });
    const first = verifier.verify();
    const others = Array.from({ length: 20 }, () => verifier.verify());
    const verdicts = new Set(await Promise.all(others));
    expect(verdicts.size).toBe(1);
    expect(verdicts).not.toContain(await first);
    expect(runs).toHaveBeenCalledTimes(2);
    await verifier.verify();
    expect(runs).toHaveBeenCalledTimes(3);
  });

  it('is retried after a failed run', async () => {
    const verifier = app.application.get(ChainVerifier, { strict: false });
    const broken = jest.spyOn(app.application.get(EntryReader), 'extent').mockRejectedValueOnce(new Error('gone'));
    const [first, next] = await Promise.allSettled([verifier.verify(), verifier.verify()]);
    expect([first.status, next.status]).toEqual(['rejected', 'fulfilled']);
    broken.mockRestore();
    expect((await verify()).status).toBe(200);
  });
});

describe('Migrations', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ modules: [NotesModule] });
  });
  afterAll(() => app.close());

  it('create the tables that the classes declare, including those of extensions', async () => {
    const dataSource = app.application.get(DataSource);
    expect(dataSource.entityMetadatas.map(({ tableName }) => tableName).sort()).toEqual([
      ...[
        'agents',
        'api_keys',
        'change_marks',
        'change_requests',
        'claims',
        'decisions',
        'delegations',
        'directory_groups',
        'directory_members',
        'directory_users',
        'entities',
        'erasures',
        'executions',
        'grants',
      ],
      ...[
        'idempotency_keys',
        'ledger_counters',
        'ledger_entries',
        'ledger_head',
        'ledger_leftovers',
        'ledger_list_items',
        'ledger_sums',
      ],
      ...[
        'ledger_tree_nodes',
        'mail_recipients',
        'notes',
        'passkeys',
        'policies',
        'process_leases',
        'restorations',
        'secret_key_proofs',
        'stops',
      ],
      ...['webhook_leases', 'webhook_standings', 'webhooks'],
    ]);
    if (onPostgres) expectTextToCompareByBytes(dataSource);
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });
});

/** True for all text columns, whatever their classes say: src/ledger/database/postgres/postgres-migrations.ts. */
function expectTextToCompareByBytes({ driver, entityMetadatas }: DataSource): void {
  for (const column of entityMetadatas.flatMap(({ columns }) => columns)) {
    if (driver.normalizeType(column) === 'text') column.collation = 'C';
  }
}
