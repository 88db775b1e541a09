import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eraseIn, recount, unerase } from '../evidence/erased-log';
import { entriesOf, exportOf, sealEntries } from '../evidence/forged-log';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { erase } from '../support/application/erase';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { ROOT } from '../support/documents/markdown';
import { runVerifier } from '../support/processes/run-verifier';

/** The types of records that can be erased, as the verifier lists them. */
const SOURCE = readFileSync(join(ROOT, 'verifier/erasures.mjs'), 'utf8');
const ERASABLE_TYPES = (/ERASABLE_TYPES = \[(.*)\]/.exec(SOURCE)?.[1] ?? '').match(/\w+/g) ?? [];
const OF_LIMITS = 'execution that used a limit';

describe('The offline verifier, on erasures by an operator who has the signing key', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { RETAIN_AT_LEAST: 'PT0S' } });
    await createAgent(app, { name: 'bot', capabilities: ['look', 'pay', 'walk'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    const limits = [{ max: 10, of: '/amount', per: 'day', by: 'agent' }];
    await createPolicy(app, { name: 'pays', actions: ['pay'], limits });
    await createPolicy(app, { name: 'walks', actions: ['walk'] });
    const approval = { approvers: [{ subjects: ['role:finance'], approvals: 1 }], grant: { for: 'PT1H' } };
    await createPolicy(app, { name: 'looks', effect: 'require_approval', actions: ['look'], approval });
    const changes = [
      ['PATCH', '', { roles: ['a'] }],
      ['POST', '/suspend'],
      ['POST', '/resume'],
    ] as const;
    for (const [method, path, body = {}] of changes) await send(app, method, `/api/v1/agents/bot${path}`, { body });

    const { id: entityId } = await createEntity(app);
    await addClaim(app, entityId);
    const limited = await execute(app, 'pay', { amount: 9 });
    const unlimited = await execute(app, 'walk');
    const approved = await execute(app, 'look');
    await review(app, approved, 'approve', { grant: { for: 'PT1H' } });
    await send(app, 'POST', `/api/v1/executions/${approved.id}/resume`);
    const rejected = await execute(app, 'look', { again: true });
    await review(app, rejected, 'reject');
    const open = await execute(app, 'look', { later: true });
    const early = await exported(app);
    const executions = [limited, unlimited, approved, rejected].map(({ id }) => ({ type: 'execution', id }));
    await erase(app, { type: 'entity', id: entityId }, ...executions);
    const late = await exported(app);
    return { app, entityId, limited, open, early, late };
  });

  /** Returns the faults that the verifier finds in a log that was sealed anew. */
  async function faultsOf(entries: readonly Parsed[]): Promise<string> {
    const log = structuredClone([...entries]);
    sealEntries(log);
    const { exitCode, output } = await runVerifier(['-'], exportOf(log));
    expect(exitCode).toBe(output.endsWith('\nVALID\n') ? 0 : 1);
    return output;
  }

  const erasingEntries = (): Parsed[] => stage.late.filter(({ action }) => action.endsWith('.erased'));

  it('finds the log valid as it was, and sealed anew', async () => {
    expect(new Set(erasingEntries().map(({ subjectType }) => subjectType))).toEqual(new Set(ERASABLE_TYPES));
    for (const log of [stage.early, stage.late, recount(stage.late)]) expect(await faultsOf(log)).toMatch(/\nVALID\n$/);
  });

  it('finds each record that was left out of the erasure of what belongs to it', async () => {
    const { early, late } = stage;
    const alone: string[] = [];
    for (const { subjectId, subjectType, state } of erasingEntries()) {
      const output = await faultsOf(recount(unerase(late, early, subjectId)));
      const isPaired = subjectType === 'execution' ? state.decisionId !== null : true;
      expect([subjectType, output]).toEqual([subjectType, expect.stringMatching(/\nINVALID/)]);
      if (!isPaired) expect(output).toContain(`was of the execution ${subjectId}, which was not erased`);
      if (isPaired && subjectType !== 'entity')
        expect(output).toMatch(/(?:execution|decision|grant) \w+ has its contents, and the (?:execution|decision) \w+/);
      if (!isPaired) alone.push(subjectId);
    }
    expect(alone).toHaveLength(2);
  });

  it('finds each detail of an erasing entry that was left out, or says something else', async () => {
    const seen = new Set<string>();
    for (const { sequence, subjectType, audit } of erasingEntries()) {
      for (const name of Object.keys(audit.details)) {
        const label = `${name === 'used' ? OF_LIMITS : subjectType} ${name}`;
        if (seen.has(label)) continue;
        seen.add(label);
        for (const change of [
          (details: Parsed): void => void Reflect.deleteProperty(details, name),
          (details: Parsed): void => void (details[name] = changed(details[name])),
        ]) {
          const log = structuredClone(stage.late);
          change(log[sequence - 1]?.audit.details);
          expect([label, await faultsOf(recount(log))]).toEqual([label, expect.stringMatching(/\nINVALID/)]);
        }
      }
    }
    expect(seen).toEqual(new Set([...ERASABLE_TYPES.map((type) => `${type} erasureId`), `${OF_LIMITS} used`]));
  });

  it('finds an erased execution that names no policies, or others than the limits that it used', async () => {
    for (const policies of [[], [null], undefined]) {
      const log = structuredClone(stage.late);
      const erasing = log.find(({ subjectId, action }) => subjectId === stage.limited.id && action.endsWith('.erased'));
      if (policies === undefined) erasing.state = erasing.salts.state = null;
      else erasing.state.policies = policies;
      expect(await faultsOf(log)).toMatch(/details\.used names other limits than the policies that allowed it have/);
    }
  });

  it.each<[what: string, fault: RegExp, change: (erasing: Parsed) => void]>([
    ['of another agent', /with the key "agt_0", and/, ({ audit }) => (audit.details.used[0].key = 'agt_0')],
    [
      'of another day',
      /with the window "2020-01-01T00:00:00\.000Z", and/,
      ({ audit }) => (audit.details.used[0].window = '2020-01-01T00:00:00.000Z'),
    ],
    [
      'of an execution that was refused',
      /says that the outcome was "denied", and an entry before authorised the execution/,
      ({ state, audit }) => {
        state.outcome = 'denied';
        delete audit.details.used;
      },
    ],
  ])('finds that an erasure names a use %s', async (_what, fault, change) => {
    const log = structuredClone(stage.late);
    change(log.find(({ subjectId, action }) => subjectId === stage.limited.id && action.endsWith('.erased')));
    expect(await faultsOf(log)).toMatch(fault);
  });

  it('finds an entry about an erasure that has itself lost its contents', async () => {
    for (const { sequence } of erasingEntries()) {
      const { subjectType, subjectId } = stage.late[sequence - 1];
      const twice = eraseIn(stage.late, [subjectType, subjectId], (entry) => entry.sequence === sequence);
      expect(await faultsOf(recount(twice))).toMatch(/records an erasure, and lost its contents/);
    }
  });

  it('finds a limit that an erasure set free', async () => {
    const log = structuredClone(stage.late);
    const erasing = log.find(({ subjectId, action }) => subjectId === stage.limited.id && action.endsWith('.erased'));
    delete erasing.audit.details.used;
    expect(await faultsOf(log)).toMatch(/details\.used names other limits than the policies that allowed it have/);
  });

  it('finds a record that is no subject of its erasure', async () => {
    for (const { sequence, subjectType, subjectId } of erasingEntries()) {
      const log = structuredClone(stage.late);
      const begun = log.find(({ action }) => action === 'erasure.begun');
      for (const { subjectType: kind, state } of log)
        if (kind === 'erasure') state.subjects = state.subjects.filter(({ id }: Parsed) => id !== subjectId);
      const isSubject = begun.state.subjects.length < stage.late[begun.sequence - 1]?.state.subjects.length;
      const output = await faultsOf(log);
      if (isSubject) expect(output).toContain(`was not of the ${subjectType} ${subjectId}, which was erased`);
      expect([sequence, output]).toEqual([sequence, expect.stringMatching(isSubject ? /\nINVALID/ : /\nVALID/)]);
    }
  });

  it('finds an entity that was erased though nobody asked for it', async () => {
    const { early, entityId } = stage;
    const isTaken = ({ subjectId, audit }: Parsed): boolean => subjectId === entityId || audit.entityId === entityId;
    const log = eraseIn(early, ['entity', entityId], isTaken);
    const erasing = log.at(-1);
    erasing.state = erasing.salts.state = null;
    expect(await faultsOf(log)).toContain('no entity is erased when RETAIN_CONTENT is over');
  });

  it('finds what was erased while an action could follow', async () => {
    const { early, open } = stage;
    const log = eraseIn(eraseIn(early, ['execution', open.id]), ['decision', open.decisionId]);
    const output = await faultsOf(log);
    expect(output).toContain('it is erased while it is "pending_approval"');
    expect(output).toContain('it is erased while it is "proposed"');
  });

  it('finds every revision of an agent that does not follow the one before', async () => {
    const about = stage.early.filter(({ subjectType, state }) => subjectType === 'agent' && state.name === 'bot');
    expect(about.map(({ action }) => action)).toEqual([
      'agent.created',
      'agent.updated',
      'agent.suspended',
      'agent.resumed',
    ]);
    for (const { sequence, state } of about) {
      for (const step of [-1, 1]) {
        const log = structuredClone(stage.early);
        log[sequence - 1].state.revision = Number(state.revision) + step;
        expect(await faultsOf(log)).toMatch(/FAULT chain: entry \d+: the revision \d+ of the agent does not follow/);
      }
    }
  });

  it('accepts entries that change no agent, and keep its revision', async () => {
    const log = structuredClone(stage.early);
    const suspended = log.find(({ action }) => action === 'agent.suspended');
    const again = structuredClone(suspended);
    Object.assign(again, { id: `${again.id}2`, auditId: `${again.auditId}2` });
    again.audit.id = again.auditId;
    expect(await faultsOf(log.toSpliced(suspended.sequence, 0, again))).toMatch(/\nVALID\n$/);
  });
});

async function execute(app: TestApp, action: string, parameters = {}): Promise<Parsed> {
  const body = { action, resourceType: 'bill', resourceId: 'b', parameters };
  return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
}

async function review(app: TestApp, { decisionId }: Parsed, verdict: string, members = {}): Promise<void> {
  const body = { approverId: 'ann', ...members };
  expect((await send(app, 'POST', `/api/v1/decisions/${decisionId}/${verdict}`, { body })).status).toBe(200);
}

async function exported(app: TestApp): Promise<Parsed[]> {
  return entriesOf((await send(app, 'GET', '/api/v1/provenance/export')).text);
}

function changed(value: unknown): unknown {
  return Array.isArray(value) ? value.map((use: object) => ({ ...use, before: '1' })) : `${String(value)}x`;
}
