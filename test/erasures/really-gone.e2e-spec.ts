import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  watch,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import { describeOnSqlite } from '../support/database/database-kind';
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { type Answer, type Parsed, send, type Sent } from '../support/application/send';

const COMPACT = join(ROOT, 'dist', 'program', 'compact', 'main.js');
const SECRET = 'Erika Mustermann, Heidestrasse 17';

describeOnSqlite('What was erased', () => {
  let folder: string;
  let service: TestApp;
  let log: string[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-gone-'));
    mkdirSync(join(folder, 'data'));
    log = [];
    service = await start();
  });
  afterEach(async () => {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const database = (): string => join(folder, 'data', 'governance.db');

  function start(environment: Record<string, string> = {}): Promise<TestApp> {
    const settings = { DATABASE_URL: `sqlite:${database()}`, RATE_LIMIT: '1000000', RETAIN_AT_LEAST: 'PT0S' };
    const logStream = { write: (line: string): void => void log.push(line) };
    return createTestApp({ environment: { ...settings, ...environment }, logStream });
  }

  function ask(method: string, path: string, body?: object): Promise<Answer> {
    const sent: Sent = body === undefined ? {} : { body };
    return send(service, method, `/api/v1/${path}`, sent);
  }

  /** Puts a backup in place of the database, of a service that was closed, and starts on it as an operator does. */
  async function startOnBackup(): Promise<void> {
    for (const suffix of ['', '-wal']) {
      const copy = join(folder, `backup.db${suffix}`);
      if (existsSync(copy)) copyFileSync(copy, database() + suffix);
    }
    const refused = await start().then(() => '', String);
    const [, name = ''] = /ACCEPT_RESTORED_DATABASE=([^,]+),/.exec(refused) ?? [];
    service = await start({ ACCEPT_RESTORED_DATABASE: name });
  }

  async function person(): Promise<string> {
    const body = { type: 'person', name: SECRET, properties: { address: SECRET } };
    const { id } = (await ask('POST', 'entities', body)).body;
    await ask('PUT', `entities/${id as string}`, { properties: { address: `${SECRET} b` } });
    return id;
  }

  async function erased(id: string): Promise<Parsed> {
    const body = { subjects: [{ type: 'entity', id }], reason: 'Request 7' };
    const { id: erasure } = (await ask('POST', 'erasures', body)).body;
    for (;;) {
      const { body: now } = await ask('GET', `erasures/${erasure as string}`);
      if (now.completedAt !== null) return now;
      await sleep(50);
    }
  }

  function compact(url = ''): ReturnType<typeof run> {
    return run(process.execPath, [COMPACT], { folder, environment: { NODE_ENV: '', DATABASE_URL: url } });
  }

  /** The files of the database that hold one of the texts. */
  function filesWith(texts: readonly string[]): string[] {
    const files = ['', '-wal', '-shm', '-journal'].map((suffix) => database() + suffix);
    return files.filter((file) => existsSync(file) && texts.some((text) => readFileSync(file).includes(text)));
  }

  it('is in no byte of the files once they are compacted, texts and salts alike', async () => {
    const id = await person();
    const { data } = (await ask('GET', `provenance?subjectId=${id}`)).body;
    const salts: string[] = [];
    for (const { sequence } of data) {
      const { body } = await ask('GET', `provenance/${sequence as number}`);
      salts.push(body.salts.details, body.salts.state);
    }
    expect(filesWith([SECRET])).not.toEqual([]);
    for (const salt of salts) expect(filesWith([salt])).not.toEqual([]);
    await erased(id);
    await service.close();
    expect(await compact()).toEqual({ exitCode: 0, output: `compacted  ${database()}\n`, errors: '' });
    expect(filesWith([SECRET, ...salts])).toEqual([]);
    service = await start();
    const { body } = await ask('POST', 'provenance/verify', { state: true });
    expect(body).toMatchObject({ valid: true, invalidRecords: 0, erased: 3 });
  });

  it('is compacted in a file next to the database, as a large one does not fit in memory', async () => {
    await service.close();
    const connection = await SqliteConnection.open(database(), 'write');
    await connection.run('CREATE TABLE "filler" AS SELECT zeroblob(40000000) AS "bytes"');
    await connection.close();
    const made = new Set<string | null>();
    const watcher = watch(join(folder, 'data'), (_event, name) => made.add(name));
    expect((await compact()).exitCode).toBe(0);
    watcher.close();
    expect([...made].filter((name) => name?.startsWith('etilqs_'))).toHaveLength(1);
  });

  it('is not brought back by copies of the file and its log, however often they are restored', async () => {
    const id = await person();
    for (const suffix of ['', '-wal']) copyFileSync(database() + suffix, join(folder, `backup.db${suffix}`));
    await erased(id);
    const storedIds = readFileSync(`${database()}.erasures`, 'utf8');
    expect(storedIds).toBe(`entity ${id}\n`);
    for (const _time of ['once', 'twice']) {
      await service.close();
      await startOnBackup();
      expect((await ask('GET', `entities/${id}`)).status).toBe(404);
      const { body } = await ask('GET', 'erasures');
      expect(body.data).toMatchObject([{ subjects: [{ type: 'entity', id }] }]);
      expect(readFileSync(`${database()}.erasures`, 'utf8')).toBe(storedIds);
    }
  });

  it('is kept by its id although a power failure cut the line before short', async () => {
    const [first, second] = [await person(), await person()];
    await erased(first);
    truncateSync(`${database()}.erasures`, `entity ${first}`.length - 3);
    await erased(second);
    const storedIds = (): string[] => readFileSync(`${database()}.erasures`, 'utf8').split('\n');
    expect(storedIds()).toContain(`entity ${second}`);
    await service.close();
    service = await start();
    expect(storedIds()).toContain(`entity ${first}`);
  });

  it('leaves no counter that names it', async () => {
    const body = { type: SECRET, name: 'a' };
    const { id } = (await ask('POST', 'entities', body)).body;
    await erased(id);
    const foreign = await SqliteConnection.open(database(), 'read');
    expect(await foreign.all(`SELECT * FROM ledger_counters WHERE name LIKE $1 OR value = 0`, [`%${SECRET}%`])).toEqual(
      [],
    );
    await foreign.close();
  });

  it('is not compacted under a second name either, where the lock of the service is not found', async () => {
    const second = join(folder, 'second.db');
    linkSync(database(), second);
    const { exitCode, errors } = await compact(`sqlite:${second}`);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('2 hard links')]);
  });

  it('is not compacted while the service runs', async () => {
    const { exitCode, errors } = await compact();
    expect({ exitCode, errors }).toEqual({ exitCode: 1, errors: expect.stringContaining('stop that one first') });
  });

  it('is not brought back by a restored backup, also where it waited then', async () => {
    const id = await person();
    await ask('POST', 'agents', { name: 'bot', capabilities: ['pay'] });
    const policy = {
      name: 'p',
      version: '1',
      effect: 'require_approval',
      subjects: ['*'],
      actions: ['*'],
      resources: ['*'],
    };
    await ask('POST', 'policies', policy);
    const action = { action: 'pay', resourceType: 'account', resourceId: 'a', parameters: { to: SECRET } };
    const execution = (await ask('POST', 'agents/bot/execute', action)).body;
    await service.close();
    copyFileSync(database(), join(folder, 'backup.db'));

    service = await start();
    await ask('POST', `executions/${execution.id as string}/cancel`);
    const subjects = [
      { type: 'entity', id },
      { type: 'execution', id: execution.id },
    ];
    const { status } = await ask('POST', 'erasures', { subjects, reason: 'Request 8' });
    expect(status).toBe(201);
    await service.close();
    await startOnBackup();
    expect((await ask('GET', `entities/${id}`)).status).toBe(404);
    const again = (await ask('GET', `executions/${execution.id as string}`)).body;
    expect(again).toMatchObject({ outcome: 'cancelled', erased: true, parameters: {} });
    const { data } = (await ask('GET', 'erasures')).body;
    expect(data).toEqual([expect.objectContaining({ subjects, reason: expect.stringContaining('from a backup') })]);
    const audit = (await ask('GET', 'audit?action=erasure.begun')).body.data;
    expect(audit).toMatchObject([{ actor: { type: 'system' } }]);
    for (let left = 1; left > 0;) {
      await sleep(50);
      const foreign = await SqliteConnection.open(database(), 'read');
      left = (await foreign.all('SELECT 1 FROM ledger_entries WHERE state LIKE $1', [`%${SECRET}%`])).length;
      await foreign.close();
    }
    const { body } = await ask('POST', 'provenance/verify', { state: true });
    expect(body).toMatchObject({ valid: true, invalidRecords: 0 });
    expect(log.join('')).toContain('run `npm run compact`');
    await service.close();
    expect(await compact()).toMatchObject({ exitCode: 0 });
    expect(filesWith([SECRET])).toEqual([]);
  });

  it('is missed where the ids are not kept with the checkpoint, and the start says so', async () => {
    await service.close();
    copyFileSync(database(), join(folder, 'backup.db'));
    service = await start();
    await erased(await person());
    await service.close();
    rmSync(`${database()}.erasures`);
    await startOnBackup();
    expect(log.join('')).toContain('governance.db.erasures: what was erased since that backup is back');
  });
});
