import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shutDown } from '../../src/http/server/shutdown';
import type { StoredEntry } from '../../src/ledger/chain/stored-entry';
import { startFailure } from '../../src/program/start/start-failure';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { send } from '../support/application/send';
import { foreignConnection } from '../support/database/foreign-connection';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';
import { rewriteHistory } from './altered-ledger';
import { fill, keep, only, withForgery, PROVENANCE, TABLES, verify } from './checkpointed-log';

describe('The last checkpoint is kept outside the database', () => {
  let database: TemporaryDatabase;
  let app: TestApp | null;

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = null;
  });
  afterEach(async () => {
    await app?.close();
    await database.remove();
  });

  async function start(environment: Record<string, string> = {}): Promise<TestApp> {
    app = await createTestApp({ environment: { ...database.environment, ...environment } });
    return app;
  }

  async function stop(): Promise<void> {
    await app?.close();
    app = null;
  }

  function filePath(ending: string): string {
    const [name = ''] = readdirSync(database.folder).filter((file) => file.endsWith(ending));
    return join(database.folder, name);
  }

  /** The checkpoint on disk while the service is stopped. */
  async function alterStopped(alter: (entry: StoredEntry) => StoredEntry | null): Promise<void> {
    const running = await start();
    const foreign = await foreignConnection(running);
    const checkpoint = readFileSync(filePath('.checkpoint'));
    await rewriteHistory(foreign, alter);
    await foreign.close();
    await stop();
    writeFileSync(filePath('.checkpoint'), checkpoint);
  }

  /** A start that must fail: what the program would print. */
  async function refusal(environment: Record<string, string> = {}): Promise<string> {
    const { exitCode, message } = startFailure(await start(environment).catch((error: unknown) => error));
    expect(exitCode).toBe(65);
    return message;
  }

  it('together with the key, for the owner only, and both are found again', async () => {
    const first = await start();
    await fill(first, 3);
    const before = (await send(first, 'GET', `${PROVENANCE}/checkpoint`)).body;
    expect(readFileSync(filePath('.checkpoint'), 'utf8')).toBe(before.checkpoint);
    expect(statSync(filePath('.signing-key')).mode & 0o777).toBe(0o600);
    await stop();
    const second = await start();
    expect((await send(second, 'GET', `${PROVENANCE}/checkpoint`)).body).toEqual(before);
  });

  it('also at a stop', async () => {
    await fill(await start(), 3);
    await stop();
    expect(readFileSync(filePath('.checkpoint'), 'utf8').split('\n')[1]).toBe('3');
  });

  it('also where another part fails to end', async () => {
    @Injectable()
    class FailingService implements OnModuleDestroy {
      onModuleDestroy(): never {
        throw new Error('It cannot end.');
      }
    }
    @Module({ providers: [FailingService] })
    class FailingModule {}
    const lines: string[] = [];
    const environment = { ...database.environment };
    const logStream = { write: (line: string) => void lines.push(line) };
    const running = await createTestApp({ environment, modules: [FailingModule], logStream });
    await fill(running, 3);
    await shutDown(running.application);
    expect(readFileSync(filePath('.checkpoint'), 'utf8').split('\n')[1]).toBe('3');
    expect(lines.filter((line) => line.includes('It cannot end.'))).not.toEqual([]);
    expect((await start()).url).not.toBe('');
  });

  it('and no key file is written if the operator provides a key', async () => {
    const key = Buffer.alloc(32, 9).toString('base64');
    const before = await start({ SIGNING_KEY: key });
    const { checkpoint, publicKey } = (await send(before, 'GET', `${PROVENANCE}/checkpoint`)).body;
    expect(readdirSync(database.folder).filter((name) => name.endsWith('.signing-key'))).toEqual([]);
    await stop();
    const changed = await start({ SIGNING_KEY: Buffer.alloc(32, 8).toString('base64') });
    expect(await verify(changed, checkpoint)).toMatchObject({ valid: true, checkpoint: { signature: 'unknown_key' } });
    await stop();
    const rotated = await start({
      SIGNING_KEY: Buffer.alloc(32, 8).toString('base64'),
      SIGNING_KEY_PREVIOUS: publicKey,
      CHECKPOINT_ORIGIN: 'example.com/renamed',
    });
    expect(await verify(rotated, checkpoint)).toMatchObject({ valid: true, checkpoint: { signature: 'valid' } });
  });

  it.each<[what: string, alter: (entry: StoredEntry) => StoredEntry | null, why: RegExp]>([
    ['is older', only(3), /ends at entry 3, before the checkpoint's 5/],
    ['was rewritten', withForgery(2), /first 5 entries are different or were altered/],
    ['is empty', only(0), /ends at entry 0, before the checkpoint's 5/],
  ])(
    'so a database that %s does not start unless that is accepted, and that is recorded',
    async (_what, alter, why) => {
      await fill(await start(), 5);
      await stop();
      await alterStopped(alter);
      const message = await refusal();
      expect(message).toMatch(why);
      expect(message.trimEnd()).not.toContain('\n');
      const name = /ACCEPT_RESTORED_DATABASE=(5:[0-9a-f]{16})/.exec(message)?.[1] ?? '';
      await refusal({ ACCEPT_RESTORED_DATABASE: name.replace('5:', '4:') });
      const givenUp = readFileSync(filePath('.checkpoint'), 'utf8');

      const accepted = await start({ ACCEPT_RESTORED_DATABASE: name });
      const [entry] = (await send(accepted, 'GET', '/api/v1/audit?action=ledger.restored')).body.data;
      expect(entry).toMatchObject({
        actor: { type: 'system', id: 'service' },
        subjectType: 'restoration',
        subjectId: expect.stringMatching(/^rst_/),
        details: { acceptedSize: entry.sequence - 1, givenUpSize: 5 },
      });
      const { body } = await send(accepted, 'GET', `${PROVENANCE}/${entry.sequence}`);
      expect(body.state).toMatchObject({ givenUpCheckpoint: givenUp, acceptedSize: entry.sequence - 1 });
      const next = await keep(accepted);
      expect(await verify(accepted, next)).toMatchObject({ valid: true, checkpoint: { extended: true } });
      expect(await verify(accepted, givenUp)).toMatchObject({ valid: false, checkpoint: { extended: false } });
      await stop();
      // The permission applies to that one checkpoint: left in place, it changes nothing.
      const again = await start({ ACCEPT_RESTORED_DATABASE: name });
      expect((await send(again, 'GET', '/api/v1/audit?action=ledger.restored')).body.total).toBe(1);
    },
  );

  it('and a start is refused while it cannot be read', async () => {
    await fill(await start(), 2);
    await stop();
    writeFileSync(filePath('.checkpoint'), 'x');
    expect(await refusal()).toMatch(/checkpoint kept in .* cannot be read: it must have an empty line/);
  });

  it('and writes continue once the log again is what was signed', async () => {
    const running = await start();
    const write = async (): Promise<number> =>
      (await send(running, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'x' } })).status;
    await fill(running, 3);
    await keep(running);
    const foreign = await foreignConnection(running);
    for (const table of TABLES) await foreign.run(`CREATE TEMP TABLE ${table}_before AS SELECT * FROM ${table}`);
    await rewriteHistory(foreign, withForgery(2));
    expect((await send(running, 'GET', `${PROVENANCE}/checkpoint`)).status).toBe(500);
    expect(await write()).toBe(503);
    for (const table of TABLES) {
      await foreign.run(`DELETE FROM ${table}`);
      await foreign.run(`INSERT INTO ${table} SELECT * FROM ${table}_before`);
    }
    await foreign.close();
    expect((await send(running, 'GET', `${PROVENANCE}/checkpoint`)).status).toBe(200);
    expect(await write()).toBe(201);
  });

  it('and the service neither signs nor writes, and says so, while its database contradicts it', async () => {
    const running = await start();
    const probe = async (path: string): Promise<number> => (await send(running, 'GET', `/api/v1/health${path}`)).status;
    await fill(running, 3);
    const before = await keep(running);
    expect((await send(running, 'GET', '/metrics')).text).toMatch(/^governance_checkpoint_contradicted 0$/m);
    expect([await probe(''), await probe('/ready'), await probe('/live')]).toEqual([200, 200, 200]);
    const foreign = await foreignConnection(running);
    await rewriteHistory(foreign, withForgery(2));
    await foreign.close();
    expect((await send(running, 'GET', `${PROVENANCE}/checkpoint`)).status).toBe(500);
    const refused = await send(running, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'x' } });
    expect(refused).toMatchObject({
      status: 503,
      body: { error: { code: 'UNAVAILABLE', message: expect.stringContaining('contradicts an earlier checkpoint') } },
    });
    expect([await probe(''), await probe('/ready'), await probe('/live')]).toEqual([503, 503, 200]);
    expect((await send(running, 'GET', '/api/v1/stats')).body.provenanceEntries).toBe(3);
    expect((await send(running, 'GET', '/metrics')).text).toMatch(/^governance_checkpoint_contradicted 1$/m);
    expect((await send(running, 'GET', '/metrics')).text).toMatch(/^governance_checkpoint_size 3$/m);
    await stop();
    expect(readFileSync(filePath('.checkpoint'), 'utf8')).toBe(before);
  });
});
