import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RetainedContents } from '../../src/evidence/erasures/retained-contents';
import type { SqlConnection } from '../../src/ledger/database/sql-connection';
import { company, pending, reject, requireApproval } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { foreignConnection } from '../support/database/foreign-connection';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { runVerifier } from '../support/processes/run-verifier';

const DAY = 86_400_000;
const SECRET = 'Erika Mustermann';
/** The entry as it is, but with what it held before. */
const CONTENTS = ['details', 'ip', 'reason', 'requestId', 'state', 'detailsSalt', 'stateSalt', 'erased'];

/** Entries with all their columns. */
type Rows = readonly Readonly<Record<string, string | number | null>>[];

describe('Contents that somebody has put back after they were erased', () => {
  let app: TestApp;
  let foreign: SqlConnection;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'governance-put-back-'));
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    foreign = await foreignConnection(app);
    await requireApproval(app);
  });
  afterAll(async () => {
    await foreign.close();
    await app.close();
    rmSync(folder, { recursive: true });
  });

  const get = async (path: string): Promise<Parsed> => (await send(app, 'GET', `/api/v1${path}`)).body;

  async function erase(type: string, id: string): Promise<{ readonly status: number; readonly id: string }> {
    const body = { subjects: [{ type, id }], reason: 'Request 7' };
    const { status, body: erasure } = await send(app, 'POST', '/api/v1/erasures', { body });
    while ((await get(`/erasures/${erasure.id}`)).completedAt === null) await sleep(50);
    return { status, id: erasure.id };
  }

  function entriesAbout(id: string): Promise<Rows> {
    return foreign.all('SELECT * FROM "ledger_entries" WHERE "subjectId" = $1 OR "entityId" = $1 ORDER BY "sequence"', [
      id,
    ]);
  }

  async function putBack(rows: Rows): Promise<void> {
    for (const row of rows) {
      const changes = CONTENTS.map((name, index) => `"${name}" = $${index + 2}`).join(', ');
      const values = [row['sequence'] ?? null, ...CONTENTS.map((name) => row[name] ?? null)];
      await foreign.run(`UPDATE "ledger_entries" SET ${changes} WHERE "sequence" = $1`, values);
    }
  }

  async function verified(): Promise<Parsed> {
    return (await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } })).body;
  }

  async function exported(): Promise<number | null> {
    const file = join(folder, 'export.ndjson');
    writeFileSync(file, (await send(app, 'GET', '/api/v1/provenance/export')).text);
    return (await runVerifier([file])).exitCode;
  }

  async function entity(): Promise<Parsed> {
    const { id } = await createEntity(app, { name: SECRET });
    await addClaim(app, id, { value: SECRET });
    return { type: 'entity', id };
  }

  async function settled(): Promise<Parsed> {
    const { bot, ann } = await company(app, ` ${Math.random()}`);
    const request = await pending(app, { name: encodeURIComponent(bot.name) }, { parameters: { for: SECRET } });
    await reject(app, request.decisionId, ann, SECRET);
    return { type: 'execution', id: request.id, decisionId: request.decisionId };
  }

  async function granted(): Promise<Parsed> {
    const { bot, ann } = await company(app, ` ${Math.random()}`);
    const grant = { for: 'PT1H' };
    await createPolicy(app, {
      ...{ name: bot.name, effect: 'require_approval', subjects: [bot.id], actions: ['send'] },
      approval: { approvers: [{ subjects: [ann.id] }], grant },
    });
    const name = encodeURIComponent(bot.name);
    const { id, decisionId } = await pending(app, { name }, { action: 'send', resourceId: SECRET });
    const body = { approverId: ann.id, grant };
    await send(app, 'POST', `/api/v1/decisions/${decisionId}/approve`, { body });
    await send(app, 'POST', `/api/v1/executions/${id}/cancel`);
    const { data } = await get(`/grants?decisionId=${decisionId}`);
    return { type: 'execution', id: data[0].id, subject: id };
  }

  it.each([
    ['an entity', entity],
    ['an execution', settled],
    ['a grant', granted],
  ])('are found of %s, and taken when it is erased again, which leaves it as it was', async (_what, make) => {
    const { type, id, decisionId, subject = id } = await make();
    const about = async (): Promise<Rows> => [...(await entriesAbout(id)), ...(await entriesAbout(decisionId ?? ''))];
    const before = await about();
    const { id: first } = await erase(type, subject);
    const after = await about();
    expect(await verified()).toMatchObject({ valid: true, invalidHashes: 0 });
    await putBack(before);
    expect(await verified()).toMatchObject({
      valid: false,
      brokenLinks: 0,
      invalidHashes: before.length,
      firstInvalid: Math.min(...before.map(({ sequence }) => Number(sequence))),
    });
    expect(await exported()).toBe(1);
    expect(await erase(type, subject)).toEqual({ status: 200, id: first });
    while (JSON.stringify(await about()).includes(SECRET)) await sleep(50);
    while ((await foreign.all('SELECT 1 FROM "ledger_leftovers"')).length > 0) await sleep(50);
    expect(await about()).toEqual(after);
    expect(await verified()).toMatchObject({ valid: true, invalidHashes: 0, invalidRecords: 0 });
    expect(await exported()).toBe(0);
  });

  it('are found although only one entry of many has them', async () => {
    const { type, id } = await entity();
    const [created] = await entriesAbout(id);
    await erase(type, id);
    const emptied = (await entriesAbout(id)).slice(0, 1);
    await putBack(created === undefined ? [] : [created]);
    expect(await verified()).toMatchObject({ invalidHashes: 1, firstInvalid: created?.['sequence'] });
    expect(await exported()).toBe(1);
    await putBack(emptied);
    expect(await verified()).toMatchObject({ valid: true });
  });

  it('are found in what an erasure says that it took', async () => {
    const { type, id } = await entity();
    const { id: erasure } = await erase(type, id);
    const [row] = await foreign.all<Parsed>('SELECT * FROM "erasures" WHERE "id" = $1', [erasure]);
    const changes: Parsed[] = [
      { entries: Number(row.entries) - 1 },
      { records: Number(row.records) + 1 },
      { unsalted: 3 },
      { completedAt: '2026-01-01T00:00:00.000Z' },
    ];
    for (const change of changes) {
      const [[name, value] = ['', null]] = Object.entries(change);
      await foreign.run(`UPDATE "erasures" SET "${name}" = $1 WHERE "id" = $2`, [value as number, erasure]);
      expect(await verified()).toMatchObject({
        valid: false,
        invalidRecords: 1,
        firstInvalidRecords: [{ subjectType: 'erasure', subjectId: erasure, fault: 'changed' }],
      });
      await foreign.run(`UPDATE "erasures" SET "${name}" = $1 WHERE "id" = $2`, [row[name], erasure]);
    }
    expect(await verified()).toMatchObject({ valid: true, invalidRecords: 0 });
  });

  it('are no fault of an export whose earlier part was made before the erasure', async () => {
    const { type, id } = await entity();
    const file = join(folder, 'parts.ndjson');
    const first = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const { sequence } = JSON.parse(first.trim().split('\n').at(-1) ?? '').end;
    await erase(type, id);
    const second = (await send(app, 'GET', `/api/v1/provenance/export?after=${sequence}`)).text;
    writeFileSync(file, first + second);
    expect(await runVerifier([file])).toMatchObject({ exitCode: 0 });
  });

  it('are needed where the erasure begins after the end of an export, or after the last entry that was read from a database', async () => {
    const limits = [{ max: 5, per: 'month', by: 'agent' }];
    const { name } = await createAgent(app, { name: 'limited', capabilities: ['look'] });
    await createPolicy(app, { name: 'limited', actions: ['look'], limits });
    const body = { action: 'look', resourceType: 'person', resourceId: SECRET };
    const look = async (): Promise<Parsed> =>
      (await send(app, 'POST', `/api/v1/agents/${name}/execute`, { body })).body;
    const [{ id }] = [await look(), await look()];
    const { hash, sequence } = (await get('/provenance?order=desc&limit=1')).data[0];
    await erase('execution', id);
    const text = (await send(app, 'GET', '/api/v1/provenance/export')).text;
    const lines = text.split('\n').slice(0, sequence);
    const part = [...lines, JSON.stringify({ end: { sequence, hash } }), ''].join('\n');
    const { exitCode, output } = await runVerifier(['-'], part);
    expect([exitCode, output]).toEqual([1, expect.stringContaining(`what follows (after=${sequence})`)]);
    const rest = text.split('\n').slice(sequence).join('\n');
    expect(await runVerifier(['-'], part + rest)).toMatchObject({ exitCode: 0 });
    expect(await readInPart(text, sequence)).toBe('[]');
  });

  async function readInPart(text: string, upTo: number): Promise<string> {
    const child = spawn(process.execPath, [join(__dirname, 'read-in-part.mjs'), String(upTo)]);
    child.stdin.end(text);
    return (await child.stdout.setEncoding('utf8').toArray()).join('');
  }
});

describe('Contents of which RETAIN_CONTENT was over', () => {
  it('are found when they are put back', async () => {
    const app = await createTestApp({ environment: { RETAIN_CONTENT: 'P1D', MAX_CLOCK_STEP: String(10 * DAY) } });
    const foreign = await foreignConnection(app);
    try {
      const { bot, ann } = await company(app);
      await requireApproval(app);
      const { id, decisionId } = await pending(app, bot);
      await reject(app, decisionId, ann);
      const [before] = await foreign.all<Parsed>('SELECT * FROM "ledger_entries" WHERE "subjectId" = $1', [id]);
      await moveTime(2 * DAY);
      await app.application.get(RetainedContents).eraseOld();
      while ((await foreign.all('SELECT 1 FROM "ledger_leftovers"')).length > 0) await sleep(50);
      const verify = async (): Promise<Parsed> => (await send(app, 'POST', '/api/v1/provenance/verify')).body;
      expect(await verify()).toMatchObject({ valid: true });
      const changes = CONTENTS.map((name, index) => `"${name}" = $${index + 2}`).join(', ');
      const values = [before.sequence, ...CONTENTS.map((name) => before[name])];
      await foreign.run(`UPDATE "ledger_entries" SET ${changes} WHERE "sequence" = $1`, values);
      expect(await verify()).toMatchObject({ valid: false, invalidHashes: 1, firstInvalid: before.sequence });
    } finally {
      await restoreTime();
      await foreign.close();
      await app.close();
    }
  });
});
