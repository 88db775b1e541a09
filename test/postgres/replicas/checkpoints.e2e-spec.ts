import { mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckpointResponse } from '../../../src/evidence/checkpoints/dto/checkpoint.responses';
import { NoteSigner } from '../../../src/core/signed-notes/signed-note';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { addClaim, chainIsValid, createEntity } from '../../support/application/factories';
import { openCheckpoint, rootOf } from '../../verification/log-checker';
import { ROOT } from '../../support/documents/markdown';
import { send, type Parsed } from '../../support/application/send';
import { run } from '../../support/processes/shell';
import { startProgram } from '../../support/processes/started-program';
import { copyPostgresDatabase, dropPostgresDatabase } from '../../support/database/database-server';
import { postgresSettings } from '../../../src/program/testing/test-api-key';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';

const PROVENANCE = '/api/v1/provenance';
const MAIN = join(ROOT, 'dist', 'main.js');
const SEED = Buffer.alloc(32, 5);
const SIGNING_KEY = SEED.toString('base64');
const PUBLIC_KEY = new NoteSigner('agent-governance-service', SEED).publicKey;

describe.each([
  ['that share a folder, and the key one of them made', (): Record<string, string> => ({})],
  [
    'with a folder each, and the key of the operator',
    (database: TemporaryDatabase, name: string): Record<string, string> => {
      const folder = join(database.folder, name);
      mkdirSync(folder);
      return { SIGNING_KEY, CHECKPOINT_FOLDER: folder };
    },
  ],
])('Replicas %s', (_what, settings: (database: TemporaryDatabase, name: string) => Record<string, string>) => {
  let database: TemporaryDatabase;
  let replicas: TestApp[];

  beforeAll(async () => {
    database = await temporaryDatabase();
    const starting = ['first', 'second'].map((name) =>
      createTestApp({ environment: { ...database.environment, ...settings(database, name) } }),
    );
    replicas = await Promise.all(starting);
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
    await database.remove();
  });

  function replica(index: number): TestApp {
    const instance = replicas[index % replicas.length];
    if (instance === undefined) throw new Error('No replica was started.');
    return instance;
  }

  async function checkpoint(app: TestApp): Promise<CheckpointResponse> {
    const { status, body } = await send(app, 'GET', `${PROVENANCE}/checkpoint`);
    expect(status).toBe(200);
    return body;
  }

  it('grow one tree, and sign one log with one key', async () => {
    const { id } = await createEntity(replica(0));
    const signed: CheckpointResponse[] = [];
    const writers = { areWriting: true };
    const writing = Promise.all(
      Array.from({ length: 8 }, async (_unused, index) => {
        for (let made = 0; made < 40; made += 1) await addClaim(replica(index + made), id);
      }),
    ).finally(() => (writers.areWriting = false));
    const signing = replicas.map(async (app) => {
      while (writers.areWriting) signed.push(await checkpoint(app));
    });
    await Promise.all([writing, ...signing]);
    signed.push(await checkpoint(replica(0)), await checkpoint(replica(1)));

    const { data } = (await send(replica(1), 'GET', `${PROVENANCE}?limit=1000`)).body;
    const hashes: string[] = data.map(({ hash }: Parsed) => hash);
    const [{ publicKey } = { publicKey: '' }] = signed;
    for (const { checkpoint: note } of signed) {
      const { size, rootHash } = openCheckpoint(note, publicKey);
      expect(rootHash).toBe(rootOf(hashes.slice(0, size)));
    }
    expect(signed.at(-1)).toEqual(signed.at(-2));
    expect(signed.at(-1)?.size).toBe(hashes.length);
    await chainIsValid(replica(1));
  });
});

describe('A replica', () => {
  it('with a folder of its own starts again after others have written, but not on another database', async () => {
    const database = await temporaryDatabase();
    const other = await temporaryDatabase();
    const environment = { ...database.environment, SIGNING_KEY };
    try {
      const first = await startProgram(MAIN, environment);
      const { id } = (await first.send('POST', '/api/v1/entities', { body: { type: 'service', name: 'x' } })).body;
      await first.stop();
      const elsewhere = await startProgram(MAIN, { ...environment, CHECKPOINT_FOLDER: other.folder });
      const claim = { predicate: 'owner', value: 'x' };
      await elsewhere.send('POST', `/api/v1/entities/${id}/claims`, { body: claim });
      await elsewhere.stop();
      const again = await startProgram(MAIN, environment);
      expect((await again.send('GET', `${PROVENANCE}/checkpoint`)).body.size).toBe(2);
      await again.stop();

      const name = new URL(environment.DATABASE_URL).pathname;
      const wrong = environment.DATABASE_URL.replace(name, new URL(other.environment.DATABASE_URL).pathname);
      expect(wrong).not.toBe(environment.DATABASE_URL);
      const settings = { NODE_ENV: '', API_KEY: 'a-key-of-these-tests', PORT: '0', SIGNING_KEY, DATABASE_URL: wrong };
      const { folder } = database;
      const refused = await run(process.execPath, [MAIN], {
        folder,
        environment: { ...settings, ...postgresSettings(settings), CHECKPOINT_FOLDER: folder },
      });
      expect(refused).toMatchObject({ exitCode: 65, errors: expect.stringMatching(/ends at entry 0, before .* 2\./) });
    } finally {
      await database.remove();
      await other.remove();
    }
  });

  it('is refused on an older copy under another name, also where the checkpoint was kept by the name of the database', async () => {
    const database = await temporaryDatabase();
    const { folder } = database;
    const environment = { ...database.environment, SIGNING_KEY, CHECKPOINT_FOLDER: folder };
    const startAndStop = async (settings: object = {}, act?: (app: TestApp) => Promise<unknown>) => {
      const app = await createTestApp({ environment: { ...environment, ...settings } });
      await act?.(app);
      await app.close();
    };
    const keptFiles = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.checkpoint'));
    await startAndStop({}, createEntity);
    const copy = await copyPostgresDatabase(environment.DATABASE_URL);
    try {
      await startAndStop({}, createEntity);
      const [file = ''] = keptFiles();
      expect(keptFiles()).toEqual([expect.stringMatching(/^agent-governance-service\+[\da-f]{8}\.checkpoint$/)]);
      // As an earlier version has named it.
      const earlier = `${new URL(environment.DATABASE_URL).pathname.slice(1)}.checkpoint`;
      renameSync(join(folder, file), join(folder, earlier));
      await startAndStop();
      expect(keptFiles()).toEqual([file]);
      // The checkpoint was signed with the key that is now the previous one.
      const settings = { SIGNING_KEY: Buffer.alloc(32, 6).toString('base64'), SIGNING_KEY_PREVIOUS: PUBLIC_KEY };
      await expect(startAndStop({ ...settings, DATABASE_URL: copy })).rejects.toThrow('does not extend the checkpoint');

      const refused = await startAndStop({ DATABASE_URL: copy }).catch(String);
      expect(refused).toContain(join(folder, file));
      const [, acceptance = ''] = /ACCEPT_RESTORED_DATABASE=(\S+),/.exec(refused ?? '') ?? [];
      renameSync(join(folder, file), join(folder, `${new URL(copy).pathname.slice(1)}.checkpoint`));
      await startAndStop({ DATABASE_URL: copy, ACCEPT_RESTORED_DATABASE: acceptance });
      await startAndStop({ DATABASE_URL: copy });
    } finally {
      await dropPostgresDatabase(copy);
      await database.remove();
    }
  });
});
