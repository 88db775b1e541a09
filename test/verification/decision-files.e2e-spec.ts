import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createPolicy, issueKey } from '../support/application/factories';
import { stageOf } from '../support/application/stage';
import { foreignConnection } from '../support/database/foreign-connection';
import { rulesFrom } from '../support/oracles/rules-oracle';
import { type Answer, type Parsed, send } from '../support/application/send';
import {
  approved,
  ask,
  company,
  type Company,
  EXECUTIONS,
  order,
  pending,
  reject,
  requireApproval,
  resume,
} from '../approvals/support';
import { openCheckpoint, rootByPath } from './log-checker';
import { canonical, hashesOf } from './recompute-chain';

function evidence(app: TestApp, id: string, key?: string): Promise<Answer> {
  return send(app, 'GET', `${EXECUTIONS}/${id}/evidence`, key === undefined ? {} : { key });
}

/** Reads the file of an execution, and checks everything in it as a stranger does. */
async function checkedFile(app: TestApp, id: string): Promise<Parsed> {
  const { status, text, headers, body: file } = await evidence(app, id);
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
  expect(headers.get('content-disposition')).toBe(`attachment; filename="${id}.evidence.json"`);
  expect(text).toBe(canonical(file));
  expect(Object.keys(file)).toEqual(['checkpoint', 'entries', 'executionId', 'format', 'policies', 'rules']);
  expect([file.format, file.executionId]).toEqual(['agent-governance-evidence/1', id]);
  const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
  const { size, rootHash } = openCheckpoint(file.checkpoint, publicKey);
  for (const { proof, ...entry } of file.entries) {
    const { sequence, hash } = entry;
    expect(entry).toEqual((await send(app, 'GET', `/api/v1/provenance/${sequence}`)).body);
    expect(entry).toMatchObject({ v: 2, ...hashesOf(entry) });
    const leaf = createHash('sha256').update(Buffer.concat([Buffer.of(0), Buffer.from(hash, 'hex')]));
    expect(rootByPath(sequence - 1, size, leaf.digest('hex'), proof)).toBe(rootHash);
  }
  const sequences: number[] = file.entries.map(({ sequence }: Parsed) => sequence);
  expect(sequences).toEqual([...new Set(sequences)].sort((one, other) => one - other));
  const hashes = file.entries.flatMap(({ audit }: Parsed) => audit.details.rules ?? []);
  expect(file.rules.map(({ hash }: Parsed) => hash)).toEqual([...new Set(hashes)]);
  const contents = new Map<string, Parsed>(file.policies.map((policy: Parsed) => [policy.id, policy]));
  for (const { hash, defaultEffect, evaluation, policies } of file.rules) {
    expect(evaluation).toBe(4);
    expect(
      rulesFrom(
        policies.map((policy: string) => contents.get(policy)),
        defaultEffect,
      ),
    ).toBe(hash);
  }
  const ids = [...contents.keys()];
  expect(ids).toEqual([...new Set(file.rules.flatMap(({ policies }: Parsed) => policies))].sort());
  return file;
}

/** Returns the actions of the entries of a file, in order. */
function actionsIn(file: Parsed): string[] {
  return file.entries.map(({ action }: Parsed) => action);
}

describe('The decision file', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const people = await company(app);
    await requireApproval(app, { executeWithin: 'PT30M' });
    await createPolicy(app, { name: 'sends', actions: ['send'], description: 'ä "\u2028"\u{1F600}' });
    return { app, people };
  });

  const decide = (verdict: string, id: string | null, body: object): Promise<Answer> =>
    send(stage.app, 'POST', `/api/v1/decisions/${String(id)}/${verdict}`, { body });

  it('of what was authorised has the entry, its agent and its policies', async () => {
    const { app, people } = stage;
    const { body } = await ask(app, people.bot, { action: 'send', ...order(), parameters: { text: 'ä\u2028"' } });
    const file = await checkedFile(app, body.id);
    expect(actionsIn(file)).toEqual(['agent.created', 'execution.authorized']);
    expect(file.entries[0].subjectId).toBe(people.bot.id);
    expect(file.policies.map(({ name }: Parsed) => name)).toContain('sends');
    expect(file.policies[0]).not.toHaveProperty('status');
    await send(app, 'POST', `${EXECUTIONS}/${body.id}/result`, { body: { outcome: 'executed', result: [1] } });
    expect(actionsIn(await checkedFile(app, body.id)).at(-1)).toBe('execution.completed');
  });

  it('of an approval has the decision, the rules of each step, and everybody as they were then', async () => {
    const { app, people } = stage;
    const { id, decisionId } = await pending(app, people.bot, order());
    const more = await createPolicy(app, { name: 'more', actions: ['nothing'] });
    await send(app, 'PATCH', `/api/v1/agents/${people.bot.id}`, { body: { description: 'changed' } });
    await decide('approve', decisionId, { approverId: people.ann.id });
    await createPolicy(app, { name: 'more', version: '2', actions: ['nothing'] });
    await send(app, 'POST', `/api/v1/agents/${people.ann.id}/suspend`);
    expect((await resume(app, id)).status).toBe(403);
    await send(app, 'POST', `/api/v1/agents/${people.ann.id}/resume`);
    await send(app, 'POST', `/api/v1/policies/${more.id}/activate`);
    expect((await resume(app, id)).status).toBe(200);
    const file = await checkedFile(app, id);
    expect(actionsIn(file)).toEqual([
      ...['agent.created', 'agent.created'],
      ...[
        'decision.proposed',
        'execution.approval_requested',
        'agent.updated',
        'decision.approved',
        'execution.approved',
      ],
      ...['agent.suspended', 'execution.resume_denied', 'agent.resumed', 'execution.resumed'],
    ]);
    // Asked, approved as resumed, and refused in between.
    expect(file.rules).toHaveLength(3);
    expect(file.policies.filter(({ name }: Parsed) => name === 'more')).toHaveLength(2);
  });

  it('of a rejection has the reviewer, and so has what was refused for it', async () => {
    const { app, people } = stage;
    const place = order();
    const { id, decisionId } = await pending(app, people.bot, place);
    await decide('reject', decisionId, { approverId: people.ben.id, comment: 'No.' });
    const again = await ask(app, people.bot, place);
    expect(again.body.error.reason).toBe('approval_rejected');
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?resourceId=${place.resourceId}&outcome=denied`)).body;
    const [rejected, refused] = [await checkedFile(app, id), await checkedFile(app, data[0].id)];
    expect(actionsIn(rejected).slice(-2)).toEqual(['decision.rejected', 'execution.rejected']);
    expect(actionsIn(refused).filter((action) => !action.startsWith('agent.'))).toEqual([
      ...['decision.proposed', 'execution.approval_requested'],
      ...['decision.rejected', 'execution.rejected', 'execution.denied'],
    ]);
    const agents = refused.entries.filter(({ subjectType }: Parsed) => subjectType === 'agent');
    expect(new Set(agents.map(({ subjectId }: Parsed) => subjectId))).toEqual(new Set([people.ben.id, people.bot.id]));
  });

  it('of what was denied has no decision', async () => {
    const { app, people } = stage;
    const place = order();
    await ask(app, people.bot, { ...place, action: 'fly' });
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?resourceId=${place.resourceId}`)).body;
    const file = await checkedFile(app, data[0].id);
    expect(actionsIn(file).filter((action) => !action.startsWith('agent.'))).toEqual(['execution.denied']);
  });

  it('of an approval that expired or was cancelled ends with that', async () => {
    const { app, people } = stage;
    const cancelled = await pending(app, people.bot, order());
    await send(app, 'POST', `${EXECUTIONS}/${cancelled.id}/cancel`, { body: { reason: 'No need.' } });
    expect(actionsIn(await checkedFile(app, cancelled.id)).slice(-2)).toEqual([
      ...['decision.cancelled', 'execution.cancelled'],
    ]);
    const place = order();
    const soon = { approvers: [{ subjects: ['role:security'] }], decideWithin: 'PT1S' };
    await requireApproval(app, soon, { name: 'soon', priority: 9, resources: [place.resourceId] });
    const { id } = await pending(app, people.bot, place);
    while ((await send(app, 'GET', `${EXECUTIONS}/${id}`)).body.outcome === 'pending_approval') await sleep(20);
    expect(actionsIn(await checkedFile(app, id)).slice(-2)).toEqual(['decision.expired', 'execution.expired']);
  });

  it('has the last checkpoint, or a new one where that lacks some entries', async () => {
    const { app, people } = stage;
    const { id } = await approved(app, people, order());
    await checkedFile(app, id);
    const { checkpoint } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
    expect((await checkedFile(app, id)).checkpoint).toBe(checkpoint);
    expect((await resume(app, id)).status).toBe(200);
    const later = await checkedFile(app, id);
    expect(later.checkpoint).not.toBe(checkpoint);
    expect(actionsIn(later).at(-1)).toBe('execution.resumed');
  });

  it('has every policy once, however many are in force and have changed meanwhile', async () => {
    const { app, people } = stage;
    const { id, decisionId } = await pending(app, people.bot, order());
    const apply = async (version: string, count: number): Promise<void> => {
      const rules = { effect: 'allow', subjects: ['role:none'], actions: ['nothing'], resources: ['nowhere'], version };
      const policies = Array.from({ length: count }, (_, index) => ({ name: `one of many ${index}`, ...rules }));
      const { base } = (await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [] } })).body;
      expect((await send(app, 'POST', '/api/v1/policies/apply', { body: { base, policies } })).status).toBe(200);
    };
    await apply('1', 130);
    await decide('approve', decisionId, { approverId: people.ann.id });
    await apply('2', 120);
    expect((await resume(app, id)).status).toBe(200);
    const { rules, policies } = await checkedFile(app, id);
    const counts = rules.map((set: Parsed) => set.policies.length);
    expect([counts[1] - counts[0], counts[2] - counts[1]]).toEqual([130, 0]);
    expect(policies.filter(({ name }: Parsed) => name.startsWith('one of many'))).toHaveLength(250);
  });

  it('has the rules of its place in the ledger, however policies change meanwhile', async () => {
    const { app, people } = stage;
    const place = order();
    const racing = Array.from({ length: 30 }, async (_, index) => {
      await ask(app, people.bot, { ...place, action: index % 2 === 0 ? 'send' : 'fly' });
      if (index % 3 === 0)
        await createPolicy(app, {
          name: 'racing',
          version: `${index}`,
          effect: 'deny',
          actions: ['send'],
          priority: index,
        });
    });
    await Promise.all(racing);
    // Earlier requests may all have been decided in one commit, before any of the policies.
    await ask(app, people.bot, { ...place, action: 'send' });
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?resourceId=${place.resourceId}`)).body;
    expect(data).toHaveLength(racing.length + 1);
    const rules = new Set<string>();
    for (const { id } of data) rules.add((await checkedFile(app, id)).rules[0].hash);
    expect(rules.size).toBeGreaterThan(1);
    const [racer] = (await send(app, 'GET', '/api/v1/policies?name=racing&status=active')).body.data;
    await send(app, 'POST', `/api/v1/policies/${racer.id}/deactivate`);
  });

  it('is for those with the scope audit, and 404 for what is no execution', async () => {
    const { app, people } = stage;
    const { id, decisionId } = await pending(app, people.bot, order());
    const auditor = await issueKey(app, { scopes: ['audit'] });
    expect((await evidence(app, id, auditor.secret)).status).toBe(200);
    const reader = await issueKey(app, { scopes: ['read', 'review'] });
    expect((await evidence(app, id, reader.secret)).body.error.reason).toBe('scope_missing');
    for (const other of ['exe_nothing', String(decisionId)])
      expect((await evidence(app, other)).body.error.code).toBe('NOT_FOUND');
  });
});

describe('The decision file of what cannot be shown', () => {
  let app: TestApp;
  let people: Company;
  let policy: { readonly id: string };
  let foreign: Awaited<ReturnType<typeof foreignConnection>>;

  beforeEach(async () => {
    app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    people = await company(app);
    policy = await requireApproval(app);
    foreign = await foreignConnection(app);
  });
  afterEach(async () => {
    await foreign.close();
    await app.close();
  });

  const change = (sql: string, ...parameters: string[]): Promise<unknown> => foreign.all(sql, parameters);
  const codeOf = async (id: string): Promise<unknown[]> => {
    const { status, body } = await evidence(app, id);
    return [status, body.error.code];
  };

  it.each(['execution.approval_requested', 'decision.approved'])('is 409 where %s is of version 1', async (action) => {
    const { id } = await approved(app, people);
    await change(`UPDATE "ledger_entries" SET "v" = 1 WHERE "action" = $1`, 'agent.created');
    expect((await evidence(app, id)).status).toBe(200);
    await change(`UPDATE "ledger_entries" SET "v" = 1 WHERE "action" = $1`, action);
    expect(await codeOf(id)).toEqual([409, 'CONFLICT']);
  });

  it('is 410 from the moment on that it, or the decision that it names, is erased', async () => {
    const rejected = await pending(app, people.bot, order());
    await reject(app, rejected.decisionId, people.ann);
    await ask(app, people.bot, { resourceId: rejected.resourceId });
    const { data } = (await send(app, 'GET', `${EXECUTIONS}?outcome=denied`)).body;
    const other = await approved(app, people, order());
    await resume(app, other.id);
    const body = { subjects: [{ type: 'execution', id: rejected.id }], reason: 'Asked for.' };
    const { id: erasure } = (await send(app, 'POST', '/api/v1/erasures', { body })).body;
    const gone = async (): Promise<void> => {
      for (const id of [rejected.id, data[0].id]) expect(await codeOf(id)).toEqual([410, 'CONTENT_ERASED']);
    };
    await gone();
    while ((await send(app, 'GET', `/api/v1/erasures/${erasure}`)).body.completedAt === null) await sleep(20);
    await gone();
    await checkedFile(app, other.id);
  });

  it('is refused where the ledger leads to other rules than the entries name', async () => {
    const { id } = await approved(app, people);
    const altered = `replace("state", '"refund"', '"refuse"')`;
    await change(`UPDATE "ledger_entries" SET "state" = ${altered} WHERE "subjectId" = $1`, policy.id);
    expect(await codeOf(id)).toEqual([500, 'INTERNAL_ERROR']);
  });

  it('is cut short where a policy is not as its entries sealed it', async () => {
    const { id } = await approved(app, people);
    await change(`UPDATE "policies" SET "description" = 'another' WHERE "id" = $1`, policy.id);
    await expect(evidence(app, id)).rejects.toThrow();
  });

  it('is refused where the state of an agent is not the one that counted', async () => {
    const { id } = await approved(app, people);
    const altered = `replace("state", '"revision":1', '"revision":2')`;
    await change(`UPDATE "ledger_entries" SET "state" = ${altered} WHERE "subjectId" = $1`, people.ann.id);
    expect(await codeOf(id)).toEqual([500, 'INTERNAL_ERROR']);
  });
});
