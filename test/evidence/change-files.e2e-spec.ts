import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenAPIObject } from '@nestjs/swagger';
import { LedgerClock } from '../../src/ledger/head/ledger-clock';
import { type HeldStage, startHeld } from '../changes/held-requests';
import { approve, approvedChange, changeHeader, type ChangeStage, newPolicy, startChanges } from '../changes/support';
import { AnswerCheck } from '../openapi/answer-check';
import { operationsOf } from '../support/requests/api-document';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import type { TestApp } from '../support/application/create-test-app';
import { entryOf } from './forged-file';
import { decisionFileOf, keyAndLog, verifyChange, verifyFile } from './verified-file';

const POLICIES = '/api/v1/policies';
const ERASURES = '/api/v1/erasures';
const EMERGENCY = { 'Break-Glass': encodeURIComponent('The only reviewer is ill') };

describe('The decision file of a change', () => {
  const stage: ChangeStage = stageOf(() => startChanges({ RETAIN_AT_LEAST: 'PT0S' }));

  it('tells who proposed and approved it, and what it made', async () => {
    const { app, ada, cyd } = stage;
    const body = newPolicy();
    const sent = { key: cyd.key, body };
    const id = await approvedChange(app, ['POST', POLICIES, sent], [ada]);
    const { body: made } = await send(app, 'POST', POLICIES, { ...sent, ...changeHeader(id) });
    const file = await send(app, 'GET', `/api/v1/decisions/${id}/evidence`);
    expect(file.headers.get('content-disposition')).toBe(`attachment; filename="${id}.evidence.json"`);
    expect(file.body).toMatchObject({ format: 'agent-governance-evidence/1', decisionId: id });
    expect(file.body).not.toHaveProperty('executionId');
    const actions = file.body.entries.map(({ action }: Parsed) => action);
    expect(actions.slice(-4)).toEqual([
      'decision.proposed',
      'decision.approved',
      'policy.created',
      'decision.change_made',
    ]);
    const { exitCode, output } = await verifyChange(app, id);
    expect(output).toMatch(/\nRECOMPUTED: made as recorded\n$/);
    expect(exitCode).toBe(0);
    expect(output).toContain(`change       ${id}\n`);
    const name = String(body['name']);
    for (const sentence of [
      `cyd (${cyd.id}, revision 1: active human with no roles), with the key key_`,
      `proposed a change: Create the policy "${name}" (version 1). The request was POST /api/v1/policies, with a body of the hash `,
      ': 1 of kind:human, never by its proposer. Then it could be made within PT1H.',
      `ada (${ada.id}, revision 1: active human with no roles) approved it as kind:human`,
      `By this change: the policy ${name}, version 1, was created and came into force: allow, priority 0, for *, look, *.`,
      'So the change was made, by the caller who had proposed it',
      'Its body follows from the entries, and has the hash that was approved.',
    ])
      expect(output).toContain(sentence);
    expect(made.name).toBe(name);
  });

  it('exists before it is made, and whatever becomes of it', async () => {
    const { app, ada, cyd } = stage;
    const sent = { key: cyd.key, body: newPolicy() };
    const { body: open } = await send(app, 'POST', POLICIES, sent);
    expect((await verifyChange(app, open.id)).output).toMatch(/\nRECOMPUTED: proposed as recorded\n$/);
    const early = await decisionFileOf(app, open);
    await approve(app, open.id, ada);
    expect((await verifyChange(app, open.id)).output).toMatch(/\nRECOMPUTED: approved as recorded\n$/);
    expect((await send(app, 'POST', POLICIES, { ...sent, ...changeHeader(open.id) })).status).toBe(201);
    const { publicKey, log } = await keyAndLog(app);
    const { output } = await verifyFile(early, publicKey, log);
    expect(output).toMatch(
      /NOTE After the .* more about this decision: \d+ decision\.approved, \d+ decision\.change_made\./,
    );
    expect(output).toMatch(/\nRECOMPUTED: proposed as recorded\n$/);
    for (const [verb, status, key] of [
      ['reject', 'rejected', ada.key],
      ['cancel', 'cancelled', cyd.key],
    ] as const) {
      const { body: decision } = await send(app, 'POST', POLICIES, { key: cyd.key, body: newPolicy() });
      await send(app, 'POST', `/api/v1/decisions/${decision.id}/${verb}`, { key });
      expect((await verifyChange(app, decision.id)).output).toMatch(
        new RegExp(`\\nRECOMPUTED: ${status} as recorded\\n$`, 'u'),
      );
    }
  });

  it('is refused for other decisions, and for other callers', async () => {
    const { app, ada } = stage;
    const body = { type: 'deployment', title: 'x', proposedBy: ada.id, riskLevel: 'low' };
    const { body: decision } = await send(app, 'POST', '/api/v1/decisions', { body });
    const refused = await send(app, 'GET', `/api/v1/decisions/${decision.id}/evidence`);
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('is about no change') } },
    });
    const unknown = `/api/v1/decisions/dec_${'0'.repeat(26)}/evidence`;
    expect((await send(app, 'GET', unknown)).status).toBe(404);
    expect((await send(app, 'GET', unknown, { key: ada.key })).status).toBe(403);
  });

  it('is answered as documented, also after its contents were erased', async () => {
    const { app, cyd } = stage;
    const { body: decision } = await send(app, 'POST', POLICIES, { key: cyd.key, body: newPolicy() });
    await send(app, 'POST', `/api/v1/decisions/${decision.id}/cancel`, { key: cyd.key });
    const path = `/api/v1/decisions/${decision.id}/evidence`;
    const file = await send(app, 'GET', path);
    const body = { subjects: [{ type: 'decision', id: decision.id }], reason: 'A test' };
    expect((await send(app, 'POST', '/api/v1/erasures', { body, headers: EMERGENCY })).status).toBe(201);
    const erased = await send(app, 'GET', path);
    expect([file.status, erased.status, erased.body.error.code]).toEqual([200, 410, 'CONTENT_ERASED']);
    const document = (await send(app, 'GET', '/docs/openapi.json')).body as OpenAPIObject;
    const check = new AnswerCheck(document);
    const operation = operationsOf(document).find(({ id }) => id === 'decisionFiles_getOfChange');
    if (operation === undefined) throw new Error('The document has no such operation.');
    for (const answer of [file, erased]) expect(check.faults(operation, answer)).toEqual([]);
  });

  it('of an erasure needs no rules of the decisions that were erased, in an emergency neither', async () => {
    const { app, ada, ben } = stage;
    const first = await erasureOfChange();
    const id = await approvedChange(app, ['POST', ERASURES, first], [ada, ben]);
    expect((await send(app, 'POST', ERASURES, { ...first, ...changeHeader(id) })).status).toBe(201);
    expect(await verdictOn(id)).toBe('RECOMPUTED: made as recorded');
    const second = await erasureOfChange();
    expect((await send(app, 'POST', ERASURES, { ...second, headers: EMERGENCY })).status).toBe(201);
    const { data } = (await send(app, 'GET', '/api/v1/decisions?type=change_review&order=desc&limit=1')).body;
    expect(await verdictOn(data[0].id)).toBe('RECOMPUTED: proposed as recorded');
  });

  /** A request to erase the decision on a change of policies, whose rules are in force no more. */
  async function erasureOfChange(): Promise<{ body: object }> {
    const { app, ada, cyd } = stage;
    const { body: decision } = await send(app, 'POST', POLICIES, { key: cyd.key, body: newPolicy() });
    await send(app, 'POST', `/api/v1/decisions/${decision.id}/cancel`, { key: cyd.key });
    const other = { key: cyd.key, body: newPolicy() };
    const id = await approvedChange(app, ['POST', POLICIES, other], [ada]);
    expect((await send(app, 'POST', POLICIES, { ...other, ...changeHeader(id) })).status).toBe(201);
    return { body: { subjects: [{ type: 'decision', id: decision.id }], reason: 'A test' } };
  }

  /** The last line about the file of a change that has erased the decision on another. */
  async function verdictOn(id: string): Promise<string | undefined> {
    const { app } = stage;
    const file: Parsed = JSON.parse(await decisionFileOf(app, { id }));
    expect(entryOf(file, 'decision.erased').state.change.rules).toMatch(/^[0-9a-f]{64}$/);
    return (await verifyChange(app, id)).output.split('\n').at(-2);
  }

  it('says that nobody approved it in time', async () => {
    const { app, ada, cyd } = stage;
    const { body: decision } = await send(app, 'POST', POLICIES, { key: cyd.key, body: newPolicy() });
    const now = jest.spyOn(LedgerClock.prototype, 'timeAfter');
    now.mockImplementation(() => new Date(Date.now() + 8 * 86_400_000).toISOString());
    try {
      expect((await approve(app, decision.id, ada)).status).toBe(409);
    } finally {
      now.mockRestore();
    }
    const { output } = await verifyChange(app, decision.id);
    expect(output).toContain('Nobody settled the decision until');
    expect(output).toMatch(/\nRECOMPUTED: expired as recorded\n$/);
  });
});

describe('The decision files of all routes that are held back', () => {
  const stage: HeldStage = stageOf(startHeld);
  /** Routes whose bodies do not follow from the entries that they make. */
  const withoutBody = ['policySets_apply', 'agents_setEmail'];

  it('recompute, with the body where the entries show it', async () => {
    const { app, requests, ada, ben } = stage;
    const notRecomputed: string[] = [];
    for (const [route, [method, path, sent]] of requests) {
      const apply = route === 'policySets_apply' ? await applied(app) : sent;
      const { body: decision } = await send(app, method, path, apply);
      for (const person of [ada, ben]) expect((await approve(app, decision.id, person)).status).toBe(200);
      const made = await send(app, method, path, { ...apply, ...changeHeader(decision.id) });
      expect([route, made.status < 300 && made.status !== 202]).toEqual([route, true]);
      const { output, errors } = await verifyChange(app, decision.id);
      expect([route, errors]).toEqual([route, '']);
      expect([route, output.includes('is a route of a module')]).toEqual([route, false]);
      expect([route, output.split('\n').at(-2), output]).toEqual([route, 'RECOMPUTED: made as recorded', output]);
      expect([route, output.includes('as no person proposed it, by one more in the first group')]).toEqual([
        route,
        true,
      ]);
      if (output.includes('which was approved, does not follow from the entries')) notRecomputed.push(route);
    }
    expect(notRecomputed).toEqual(withoutBody);
  });

  it('recompute after the change has erased contents of its own entries', async () => {
    const { app } = stage;
    const [{ id: erasureId } = { id: '' }] = (await send(app, 'GET', '/api/v1/erasures')).body.data;
    while ((await send(app, 'GET', `/api/v1/erasures/${erasureId}`)).body.completedAt === null) await sleep(20);
    const changes = (await send(app, 'GET', '/api/v1/decisions?type=change&order=desc&limit=100')).body.data;
    const { id } = changes.find(({ change }: Parsed) => change.path === '/api/v1/erasures');
    const { entries } = JSON.parse(await decisionFileOf(app, { id }));
    expect(entryOf({ entries }, 'entity.deleted')).toMatchObject({ state: null, erased: expect.any(Number) });
    const { output } = await verifyChange(app, id);
    expect(output).toMatch(/By this change: entity\.deleted of ent_\w+, which was erased since\./);
    expect(output).toMatch(/\nRECOMPUTED: made as recorded\n$/);
  });

  /** A body with the policies that are in force by then. */
  async function applied(app: TestApp): Promise<{ body: object }> {
    const policy = { name: 'a set', version: '1', effect: 'allow', subjects: ['*'], actions: ['y'], resources: ['*'] };
    const { base } = (await send(app, 'POST', `${POLICIES}/plan`, { body: { policies: [policy] } })).body;
    return { body: { base, policies: [policy] } };
  }
});
