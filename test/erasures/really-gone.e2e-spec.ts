import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';
import { startCommand, type StartedProgram } from '../support/processes/started-program';
import type { Parsed } from '../support/application/send';

const MAIN = join(ROOT, 'dist', 'main.js');
const COMPACT = join(ROOT, 'dist', 'program', 'compact', 'main.js');
const SECRET = 'Erika Mustermann, Heidestrasse 17';

describeOnSqlite('What was erased', () => {
  let folder: string;
  let program: StartedProgram;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-gone-'));
    mkdirSync(join(folder, 'data'));
    program = await start();
  });
  afterEach(async () => {
    await program.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const database = (): string => join(folder, 'data', 'governance.db');

  function start(environment: Record<string, string> = {}): Promise<StartedProgram> {
    const settings = { RATE_LIMIT: '1000000', RETAIN_AT_LEAST: 'PT0S', ...environment };
    return startCommand(process.execPath, [MAIN], folder, settings);
  }

  async function person(): Promise<string> {
    const body = { type: 'person', name: SECRET, properties: { address: SECRET } };
    const { id } = (await program.send('POST', '/api/v1/entities', { body })).body;
    await program.send('PUT', `/api/v1/entities/${id as string}`, { body: { properties: { address: `${SECRET} b` } } });
    return id;
  }

  async function erased(id: string): Promise<Parsed> {
    const body = { subjects: [{ type: 'entity', id }], reason: 'Request 7' };
    const { id: erasure } = (await program.send('POST', '/api/v1/erasures', { body })).body;
    for (;;) {
      const { body: now } = await program.send('GET', `/api/v1/erasures/${erasure as string}`);
      if (now.completedAt !== null) return now;
      await sleep(50);
    }
  }

  function compact(): ReturnType<typeof run> {
    return run(process.execPath, [COMPACT], { folder, environment: { NODE_ENV: '', DATABASE_URL: '' } });
  }

  /** The files of the database that hold one of the texts. */
  function filesWith(texts: readonly string[]): string[] {
    const files = ['', '-wal', '-shm', '-journal'].map((suffix) => database() + suffix);
    return files.filter((file) => existsSync(file) && texts.some((text) => readFileSync(file).includes(text)));
  }

  it('is in no byte of the files once they are compacted, texts and salts alike', async () => {
    const id = await person();
    const { data } = (await program.send('GET', `/api/v1/provenance?subjectId=${id}`)).body;
    const salts: string[] = [];
    for (const { sequence } of data) {
      const { body } = await program.send('GET', `/api/v1/provenance/${sequence as number}`);
      salts.push(body.salts.details, body.salts.state);
    }
    expect(filesWith([SECRET])).not.toEqual([]);
    for (const salt of salts) expect(filesWith([salt])).not.toEqual([]);
    await erased(id);
    await program.stop();
    expect(await compact()).toEqual({ exitCode: 0, output: `compacted  ${database()}\n`, errors: '' });
    expect(filesWith([SECRET, ...salts])).toEqual([]);
    program = await start();
    const { body } = await program.send('POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true, invalidRecords: 0, erased: 3 });
  });

  it('is not brought back by copies of the file and its log, however often they are restored', async () => {
    const id = await person();
    for (const suffix of ['', '-wal']) copyFileSync(database() + suffix, join(folder, `backup.db${suffix}`));
    await erased(id);
    const kept = readFileSync(`${database()}.erasures`, 'utf8');
    expect(kept).toBe(`entity ${id}\n`);
    for (const _time of ['once', 'twice']) {
      await program.stop();
      for (const suffix of ['', '-wal']) copyFileSync(join(folder, `backup.db${suffix}`), database() + suffix);
      const refused = await start().then(() => '', String);
      const [, name = ''] = /ACCEPT_RESTORED_DATABASE=([^,]+),/.exec(refused) ?? [];
      program = await start({ ACCEPT_RESTORED_DATABASE: name });
      expect((await program.send('GET', `/api/v1/entities/${id}`)).status).toBe(404);
      const { body } = await program.send('GET', '/api/v1/erasures');
      expect(body.data).toMatchObject([{ subjects: [{ type: 'entity', id }] }]);
      expect(readFileSync(`${database()}.erasures`, 'utf8')).toBe(kept);
    }
  });

  it('is kept by its id although a power failure cut the line before short', async () => {
    const [first, second] = [await person(), await person()];
    await erased(first);
    truncateSync(`${database()}.erasures`, `entity ${first}`.length - 3);
    await erased(second);
    const kept = (): string[] => readFileSync(`${database()}.erasures`, 'utf8').split('\n');
    expect(kept()).toContain(`entity ${second}`);
    await program.stop();
    program = await start();
    expect(kept()).toContain(`entity ${first}`);
  });

  it('leaves no counter behind that names it', async () => {
    const body = { type: SECRET, name: 'a' };
    const { id } = (await program.send('POST', '/api/v1/entities', { body })).body;
    await erased(id);
    const foreign = await SqliteConnection.open(database(), 'read');
    expect(await foreign.all(`SELECT * FROM ledger_counters WHERE name LIKE $1 OR value = 0`, [`%${SECRET}%`])).toEqual(
      [],
    );
    await foreign.close();
  });

  it('is not compacted while the service runs', async () => {
    const { exitCode, errors } = await compact();
    expect({ exitCode, errors }).toEqual({ exitCode: 1, errors: expect.stringContaining('stop that one first') });
  });

  it('is not brought back by a restored backup, also where it waited then', async () => {
    const id = await person();
    await program.send('POST', '/api/v1/agents', { body: { name: 'bot', capabilities: ['pay'] } });
    const policy = {
      name: 'p',
      version: '1',
      effect: 'require_approval',
      subjects: ['*'],
      actions: ['*'],
      resources: ['*'],
    };
    await program.send('POST', '/api/v1/policies', { body: policy });
    const action = { action: 'pay', resourceType: 'account', resourceId: 'a', parameters: { to: SECRET } };
    const execution = (await program.send('POST', '/api/v1/agents/bot/execute', { body: action })).body;
    await program.stop();
    copyFileSync(database(), join(folder, 'backup.db'));

    program = await start();
    await program.send('POST', `/api/v1/executions/${execution.id as string}/cancel`);
    const subjects = [
      { type: 'entity', id },
      { type: 'execution', id: execution.id },
    ];
    const { status } = await program.send('POST', '/api/v1/erasures', { body: { subjects, reason: 'Request 8' } });
    expect(status).toBe(201);
    await program.stop();
    copyFileSync(join(folder, 'backup.db'), database());

    const refused = await start().then(() => '', String);
    const [, name = ''] = /ACCEPT_RESTORED_DATABASE=([^,]+),/.exec(refused) ?? [];
    program = await start({ ACCEPT_RESTORED_DATABASE: name });
    expect((await program.send('GET', `/api/v1/entities/${id}`)).status).toBe(404);
    const again = (await program.send('GET', `/api/v1/executions/${execution.id as string}`)).body;
    expect(again).toMatchObject({ outcome: 'cancelled', erased: true, parameters: {} });
    const { data } = (await program.send('GET', '/api/v1/erasures')).body;
    expect(data).toEqual([expect.objectContaining({ subjects, reason: expect.stringContaining('restored') })]);
    const audit = (await program.send('GET', '/api/v1/audit?action=erasure.begun')).body.data;
    expect(audit).toMatchObject([{ actor: { type: 'system' } }]);
    for (let left = 1; left > 0;) {
      await sleep(50);
      const foreign = await SqliteConnection.open(database(), 'read');
      left = (await foreign.all('SELECT 1 FROM ledger_entries WHERE state LIKE $1', [`%${SECRET}%`])).length;
      await foreign.close();
    }
    const { body } = await program.send('POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true, invalidRecords: 0 });
    expect(program.printed()).toContain('run `npm run compact`');
    await program.stop();
    expect(await compact()).toMatchObject({ exitCode: 0 });
    expect(filesWith([SECRET])).toEqual([]);
  });

  it('is missed where the ids are not kept with the checkpoint, and the start says so', async () => {
    await program.stop();
    copyFileSync(database(), join(folder, 'backup.db'));
    program = await start();
    await erased(await person());
    await program.stop();
    copyFileSync(join(folder, 'backup.db'), database());
    rmSync(`${database()}.erasures`);
    const refused = await start().then(() => '', String);
    const [, name = ''] = /ACCEPT_RESTORED_DATABASE=([^,]+),/.exec(refused) ?? [];
    program = await start({ ACCEPT_RESTORED_DATABASE: name });
    expect(program.printed()).toContain('governance.db.erasures: what was erased since that backup is back');
  });
});
