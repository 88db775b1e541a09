import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { reviewer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { runProgram } from './run-program';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

const NO_LOOK = { earlier: 'look', within: 'P1D', op: 'exists', value: false };
const REFUSED = /\n(?:DIFFERS|INVALID): .*\n$/;

describe('The verifier, on files and logs that would make it work for ever', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    const post = async (path: string, body: object = {}, more = {}): Promise<Parsed> =>
      (await send(app, 'POST', `/api/v1${path}`, { body, ...more })).body;
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const eve = await reviewer(app, 'eve', ['finance']);
    const approval = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'PT1H', uses: 5 } };
    await createPolicy(app, { name: 'plain', effect: 'require_approval', actions: ['ask'], approval });
    await createPolicy(app, { name: 'look', actions: ['look'] });
    await post('/agents/bot/execute', { action: 'look', resourceType: 'o', resourceId: 'r' });
    const waiting = await post('/agents/bot/execute', { action: 'ask', resourceType: 'o', resourceId: 'r' });
    await post(`/decisions/${waiting.decisionId}/approve`, {}, { key: eve.key });
    await post(`/executions/${waiting.id}/resume`);
    return { app, execution: waiting as { id: string }, ...(await keyAndLog(app)) };
  });

  async function forged(change: (entry: Parsed) => void, changeFile = (_file: Parsed): void => undefined) {
    const file: Parsed = JSON.parse(await decisionFileOf(stage.app, stage.execution));
    changeFile(file);
    const { log, publicKey, text } = forgeLog({ text: JSON.stringify(file), log: stage.log }, (entries) => {
      entries.forEach(change);
      return entries;
    });
    const runs = [await verifyFile(text, publicKey), await verifyFile(text, publicKey, log)];
    return runs.map(({ output, errors }) => `${output}${errors}`);
  }

  it('does a work that grows with what it reads, and ends', async () => {
    expect(JSON.parse(await runProgram('counted-work', stage.app.url))).toEqual({
      bodies: 32,
      matched: 1,
      read: 1,
      searched: [true, true],
      copies: [true, true],
      rejections: [true, true],
      outcomes: true,
      earlier: true,
      rules: true,
      filled: false,
      amounts: [false, false, false, true, true],
      amount: '120.5',
      deep: [true, true],
      stairs: [true, false],
      marks: 200_001,
    });
  });

  it('counts no more approvals than there are reviews', async () => {
    const outputs = await forged(({ state, subjectType }) => {
      if (subjectType === 'decision') state.approvers[0].approvals = 3e12;
    });
    for (const output of outputs) expect(output).toMatch(/approvers is recorded as .*3000000000000/);
    for (const output of outputs) expect(output).toMatch(REFUSED);
  });

  it('looks in the log for no more facts than an entry can have', async () => {
    const outputs = await forged(
      ({ action, state, subjectType, audit }) => {
        if (subjectType === 'policy' && state.effect !== 'allow') state.conditions = [NO_LOOK];
        if (action !== 'execution.approval_requested') return;
        const [{ id: policyId }] = state.policies;
        audit.details.earlier = Array.from({ length: 3 }, () => ({ policyId, condition: 0, executionId: null }));
      },
      ({ policies }) => {
        for (const policy of policies) if (policy.effect !== 'allow') policy.conditions = [NO_LOOK];
      },
    );
    for (const output of outputs) expect(output).toMatch(/details\.earlier is recorded as/);
    for (const output of outputs) expect(output).not.toContain('had been authorized before');
  });

  it('refuses a decision with more groups than any has', async () => {
    const outputs = await forged(({ state, subjectType }) => {
      if (subjectType === 'decision') state.approvers = Array<Parsed>(51).fill(state.approvers[0]);
    });
    for (const output of outputs)
      expect(output).toMatch(/has more groups than a decision can have[^]*\nINVALID: .*\n$/);
  });

  it('refuses a policy with more conditions than any has', async () => {
    const outputs = await forged(
      ({ state, subjectType }) => {
        if (subjectType === 'policy') state.conditions = Array<Parsed>(21).fill(NO_LOOK);
      },
      (file) => (file.policies[0].conditions = Array<Parsed>(21).fill(NO_LOOK)),
    );
    for (const output of outputs)
      expect(output).toMatch(/has a condition that this verifier does not know[^]*\nINVALID/);
  });

  it.each<[member: string, change: (approval: Parsed) => void]>([
    ['approvals', ({ approvers: [group] }) => (group.approvals = 300_000_000)],
    ['approvals', ({ approvers: [group] }) => (group.approvals = 0)],
    ['approvers', (approval) => (approval.approvers = Array<Parsed>(51).fill(approval.approvers[0]))],
    ['decideWithin', (approval) => (approval.decideWithin = 'P99999999999999D')],
    ['executeWithin', (approval) => (approval.executeWithin = 'P366D')],
  ])('refuses a policy with %s that no policy can have', async (_member, change) => {
    const outputs = await forged(
      ({ state, subjectType }) => {
        if (subjectType === 'policy' && state.approval !== undefined) change(state.approval);
      },
      ({ policies }) => {
        for (const { approval } of policies) if (approval !== undefined) change(approval);
      },
    );
    for (const output of outputs) expect(output).toMatch(/has not the approval of its effect[^]*\nINVALID: .*\n$/);
  });

  it.each<[action: string, path: string, value: unknown]>([
    ['execution.approval_requested', 'audit.details.earlier', [null]],
    ['execution.approval_requested', 'audit.details.used', 5],
    ['execution.approval_requested', 'audit.details.limited', [null]],
    ['execution.approval_requested', 'audit.details.claims', [null]],
    ['execution.approval_requested', 'state.policies', null],
    ['execution.approval_requested', 'state.resourceId', { a: 1 }],
    ['execution.resumed', 'audit.details.approvers', 5],
    ['execution.resumed', 'audit.details.policies', 'none'],
    ['decision.proposed', 'state.expiresAt', 'never'],
    ['decision.proposed', 'state.approvers', 'everybody'],
    ['decision.approved', 'state.reviews', 'none'],
    ['decision.approved', 'state.reviews', [null]],
    ['decision.approved', 'state.reviews', [{ signature: { authenticatorData: 'AAAA'.repeat(2_500_000) } }]],
  ])('names the entry %s whose %s has another form', async (action, path, value) => {
    const outputs = await forged((entry) => {
      if (entry.action !== action) return;
      const [name = '', ...holders] = path.split('.').reverse();
      const holder = holders.reverse().reduce((object, member) => object[member], entry);
      holder[name] = value;
    });
    for (const output of outputs) expect(output).toMatch(REFUSED);
    for (const output of outputs) expect(output).toMatch(/^(?:DIFFERENCE|FAULT) .*entry \d+/m);
  });
});
