import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { ConfigurationError } from '../../src/config/read-configuration';
import { Database } from '../../src/database/database';
import { DatabaseInUseError } from '../../src/database/database-in-use.error';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { type Answer, type Parsed, send } from '../support/application/send';

function isInstalled(): boolean {
  try {
    createRequire(__filename).resolve('better-sqlite3');
    return true;
  } catch {
    return false;
  }
}

const whereInstalled = isInstalled() ? describe : describe.skip;
const whereMissing = isInstalled() ? describe.skip : describe;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'governance-driver-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function start(driver: string): Promise<TestApp> {
  const environment = { DATABASE_DRIVER: driver, DATABASE_URL: `sqlite:${join(folder, 'governance.db')}` };
  return createTestApp({ environment });
}

async function verification(app: TestApp): Promise<Parsed> {
  return (await send(app, 'POST', '/api/v1/provenance/verify')).body;
}

whereInstalled('With better-sqlite3 (skipped where it is not installed)', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await start('better-sqlite3');
  });
  afterEach(() => app.close());

  function post(path: string, body: unknown): Promise<Answer> {
    return send(app, 'POST', `/api/v1/${path}`, { body });
  }

  it('the service does what it does with the usual driver', async () => {
    const entity = await post('entities', { type: 'customer', name: 'Näme', properties: { number: 1.5, text: '1' } });
    expect((await send(app, 'GET', `/api/v1/entities/${entity.body.id}`)).body).toEqual(entity.body);
    await post(`entities/${entity.body.id}/claims`, { predicate: 'size', value: 3 });
    await post('agents', { name: 'bot', capabilities: ['read'] });
    const request = { action: 'read', resourceType: 'document', resourceId: 'docs/1' };
    expect((await post('agents/bot/execute', request)).status).toBe(403);
    const rules = { subjects: ['agent:bot'], actions: ['read'], resources: ['docs/*'] };
    await post('policies', { name: 'may-read', version: '1', effect: 'allow', ...rules });
    expect((await post('agents/bot/execute', request)).body.outcome).toBe('authorized');
    expect((await send(app, 'DELETE', `/api/v1/entities/${entity.body.id}`)).status).toBe(204);
    const list = await send(app, 'GET', '/api/v1/audit?outcome=denied');
    expect(list.body).toMatchObject({ total: 1, data: [{ action: 'execution.denied' }] });
    expect(await verification(app)).toMatchObject({ valid: true, entriesVerified: 7 });
  });

  it("a name is taken once, and the other commands of a refused one's batch are written", async () => {
    const names = Array.from({ length: 60 }, (_, index) => (index % 3 === 0 ? `agent-${index}` : 'same'));
    const answers = await Promise.all(names.map((name) => post('agents', { name })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(21);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(39);
    expect(await verification(app)).toMatchObject({ valid: true, entriesVerified: 21 });
  });

  it('only the ledger can write', async () => {
    await expect(app.application.get(DataSource).query('DELETE FROM "ledger_entries"')).rejects.toThrow(/readonly/);
    const { points } = app.application.get(Database);
    await expect(points.run('DELETE FROM "ledger_entries"')).rejects.toMatchObject({ driverCode: 'SQLITE_READONLY' });
  });

  it('the file is locked against other processes', async () => {
    await expect(start('better-sqlite3')).rejects.toThrow(DatabaseInUseError);
  });

  it('faults are classified as the ledger expects', async () => {
    const writer = await app.application.get(Database).openWriter();
    const insert = `INSERT INTO "ledger_counters" ("name", "value") VALUES ($1, $2)`;
    await writer.run(insert, ['twice', 1]);
    await expect(writer.run(insert, ['twice', 1])).rejects.toMatchObject({
      kind: 'constraint',
      driverCode: 'SQLITE_CONSTRAINT',
    });
    await expect(writer.all('SELECT nothing FROM nowhere')).rejects.toMatchObject({ kind: 'programming' });
    await writer.close();
  });

  it('the file can be served with the other driver before and after', async () => {
    await post('entities', { type: 'customer', name: 'first' });
    for (const driver of ['sqlite3', 'better-sqlite3']) {
      await app.close();
      app = await start(driver);
      await post('entities', { type: 'customer', name: driver });
    }
    expect(await verification(app)).toMatchObject({ valid: true, entriesVerified: 3 });
  });
});

whereMissing('Without better-sqlite3 (skipped where it is installed)', () => {
  it('the start says how to install it', async () => {
    const starting = start('better-sqlite3');
    await expect(starting).rejects.toThrow(ConfigurationError);
    await expect(starting).rejects.toThrow(
      'DATABASE_DRIVER: got "better-sqlite3", which is not installed; install it with: npm install better-sqlite3@12',
    );
  });
});
