import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { SqliteConnection } from '../../src/ledger/database/sqlite/sqlite-connection';
import { rewriteHistory, withOtherState } from './altered-ledger';
import { describeOnSqlite } from '../support/database/database-kind';
import { createEntity } from '../support/application/factories';
import { generatedSection, markdownTable, marks } from '../support/documents/generated-section';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { runVerifier } from '../support/processes/run-verifier';
import { send } from '../support/application/send';

const DOCUMENT = 'SECURITY.md';
const NEVER_STARTED = 'never started';

describeOnSqlite('Tampering with the whole history, the service stopped', () => {
  const SEEN_BY = [
    'start',
    'verification',
    'verification with a kept checkpoint',
    'offline verifier',
    'offline verifier with a kept checkpoint',
  ] as const;
  const rows: string[][] = [];
  let folder: string;
  let checkpoint: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tampering-'));
    const app = await createTestApp({ environment: environmentOf('original') });
    for (let made = 0; made < 20; made += 1) await createEntity(app);
    await app.close();
    cpSync(join(folder, 'original'), join(folder, 'backup'), { recursive: true });
    const again = await createTestApp({ environment: environmentOf('original') });
    for (let made = 0; made < 10; made += 1) await createEntity(again);
    checkpoint = (await send(again, 'GET', '/api/v1/provenance/checkpoint')).body.checkpoint;
    await again.close();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function environmentOf(name: string): Record<string, string> {
    return { DATABASE_URL: `sqlite:${join(folder, name, 'governance.db')}`, RATE_LIMIT: '100000' };
  }

  it.each<[what: string, alter: (database: SqlConnection) => Promise<void>]>([
    ['nothing', async () => undefined],
    [
      'an entry rewritten, chain, head and tree put right behind it',
      (database) => rewriteHistory(database, (entry) => (entry.sequence === 10 ? withOtherState(entry) : entry)),
    ],
    [
      'the same, and the record made to agree',
      async (database) => {
        await rewriteHistory(database, (entry) => (entry.sequence === 10 ? withOtherState(entry) : entry));
        await database.run(
          `UPDATE entities SET name = (SELECT state ->> 'name' FROM ledger_entries WHERE sequence = 10) WHERE "createdSequence" = 10`,
        );
      },
    ],
    [
      'the last entries cut off, head and tree put right',
      (database) => rewriteHistory(database, (entry) => (entry.sequence <= 25 ? entry : null)),
    ],
    ['the database replaced by an older backup', async () => undefined],
    ['the head record removed', (database) => database.run('DELETE FROM ledger_head')],
  ])(
    'is found: %s',
    async (what, alter) => {
      const source = what.includes('backup') ? 'backup' : 'original';
      // The checkpoint that the service keeps is next to the database, and was not replaced.
      cpSync(join(folder, 'original'), join(folder, 'altered'), { recursive: true });
      cpSync(join(folder, source, 'governance.db'), join(folder, 'altered', 'governance.db'));
      const path = join(folder, 'altered', 'governance.db');
      const database = await SqliteConnection.open(path, 'write');
      await alter(database);
      await database.close();
      const seen = [...(await seenOffline(path)), ...(await seenByService())];
      rmSync(join(folder, 'altered'), { recursive: true });
      rows.push([what, ...marks(seen, SEEN_BY).map((mark, index) => (isUnasked(seen, index) ? '–' : mark))]);
      if (what === 'nothing') expect(seen).toEqual([]);
      else expect(seen).toEqual(expect.arrayContaining(['start', 'offline verifier with a kept checkpoint']));
    },
    300_000,
  );

  async function seenOffline(path: string): Promise<string[]> {
    const checkpointPath = join(folder, 'kept-checkpoint');
    writeFileSync(checkpointPath, checkpoint);
    const words = [[path], [path, '--checkpoint', checkpointPath]];
    const [alone, withKept] = await Promise.all(words.map((args) => runVerifier(args)));
    expect([0, 1]).toEqual(expect.arrayContaining([alone?.exitCode, withKept?.exitCode]));
    return [
      ...(alone?.exitCode === 1 ? ['offline verifier'] : []),
      ...(withKept?.exitCode === 1 ? ['offline verifier with a kept checkpoint'] : []),
    ];
  }

  /** Represents a verification that could not be requested, as the service did not start. */
  function isUnasked(seen: readonly string[], index: number): boolean {
    return seen.includes(NEVER_STARTED) && SEEN_BY[index]?.startsWith('verification') === true;
  }

  /** Found by the start; and, if somebody removed the checkpoint that the service keeps, by its verification. */
  async function seenByService(): Promise<string[]> {
    const seen: string[] = [];
    if ((await started()) === null) seen.push('start');
    rmSync(join(folder, 'altered', 'governance.db.checkpoint'));
    const app = await started();
    if (app === null) return [...seen, NEVER_STARTED];
    const { body: alone } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true, checkpoint } });
    if (!alone.valid) seen.push('verification');
    if (!body.valid) seen.push('verification with a kept checkpoint');
    await app.close();
    running = null;
    return seen;
  }

  /** The started service; null if it does not start. Its caller closes it, or else the next call. */
  let running: TestApp | null = null;
  async function started(): Promise<TestApp | null> {
    await running?.close();
    running = await createTestApp({ environment: environmentOf('altered') }).catch(() => null);
    return running;
  }

  it('has its table in the document', () => {
    const table = markdownTable(['Altered', ...SEEN_BY], rows);
    expect(generatedSection(DOCUMENT, 'history', table)).toBe(table);
  });
});
