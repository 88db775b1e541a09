import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { canonicalHash } from '../verification/recompute-chain';
import { entriesOf, exportOf, sealEntries } from './forged-log';

const WEEK = 7 * 86_400_000;

describe('The verifier, on an export of an operator who has the signing key', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['*'] });
    await createAgent(app, { name: 'ann', kind: 'human', roles: ['finance'] });
    await createPolicy(app, { name: 'sends', actions: ['send'] });
    const limits = [{ max: 3, per: 'day', by: 'request' }];
    await createPolicy(app, { name: 'calls', actions: ['call'], limits });
    const approval = { approvers: [{ subjects: ['role:finance'] }] };
    await createPolicy(app, { name: 'pays', effect: 'require_approval', actions: ['pay'], approval });
    const execute = async (action: string): Promise<Parsed> => {
      const body = { action, resourceType: 'bill', resourceId: 'a', parameters: {} };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).body;
    };
    const paid = await execute('pay');
    await send(app, 'POST', `/api/v1/decisions/${paid.decisionId}/reject`, { body: { approverId: 'ann' } });
    const sent = await execute('send');
    for (let call = 0; call < 3; call += 1) await execute('call');
    const { text: log } = await send(app, 'GET', '/api/v1/provenance/export');
    return { app, paid, sent, log };
  });

  async function verified(entries: Parsed[]): Promise<string> {
    sealEntries(entries);
    return (await runVerifier(['-'], exportOf(entries))).output;
  }

  it('notes uses of limits by another digest of an equal request', async () => {
    const note = '2 uses of limits are of requests that had another digest in the same window';
    expect(await verified(entriesOf(stage.log))).not.toContain(note);
    const entries = entriesOf(stage.log);
    const uses = entries.flatMap(({ audit }) => audit.details.used ?? []).slice(-2);
    uses.forEach((use, index) => Object.assign(use, { key: 'A'.repeat(43), before: `${index}` }));
    const output = await verified(entries.filter(({ action }) => action !== 'policy.limit_warned'));
    expect(output).toContain(note);
    expect(output).toMatch(/\nVALID\n$/);
  });

  it('notes a review in the name of somebody that the operator sent', async () => {
    expect(await verified(entriesOf(stage.log))).toContain(
      'NOTE 1 reviews were sent with a key that is bound to nobody, and nobody signed them',
    );
  });

  it('notes entries that rules of an older evaluation decided', async () => {
    const note = 'entries were decided by rules of an evaluation that is not the current one';
    expect(await verified(entriesOf(stage.log))).not.toContain(note);
    const entries = entriesOf(stage.log);
    const contents = entries
      .filter(({ subjectType }) => subjectType === 'policy')
      .map(({ state: { status: _status, warnings: _warnings, createdAt: _createdAt, ...content } }) => content);
    const byId = new Map(contents.map((content) => [content.id, canonicalHash(content)]));
    const policies = [...byId].sort(([one], [other]) => (one < other ? -1 : 1));
    const rules = canonicalHash({ defaultEffect: 'deny', evaluation: 1, policies });
    for (const { audit } of entries) if (audit.details.rules !== undefined) audit.details.rules = rules;
    const output = await verified(entries);
    expect(output).toContain(`NOTE 6 ${note}`);
    expect(output).toMatch(/\nVALID\n$/);
  });

  it('finds a rejection by a token that names nobody', async () => {
    const { paid, log } = stage;
    const entries = entriesOf(log);
    for (const { action, audit, state } of entries) {
      if (!['decision.rejected', 'execution.rejected'].includes(action)) continue;
      audit.actor = { type: 'token', id: 'https://id.example#ann' };
      if (state.id === paid['id']) audit.details.reviewerId = null;
      else {
        Object.assign(state.reviews[0], { approverId: null, groups: [] });
        audit.agentId = audit.details.approverRevision = null;
      }
    }
    expect(await verified(entries)).toContain(
      'a token, which reviewed the decision, is bound to an agent, and names nobody',
    );
  });

  describe('a result that came a week after the request', () => {
    /** The log in which an execution was completed after another of that week. */
    function completedLate(change: object): Parsed[] {
      const entries = entriesOf(stage.log);
      const first = entries.find(({ subjectId }) => subjectId === stage.sent['id']);
      const at = (ms: number): string => new Date(Date.parse(first.timestamp) + ms).toISOString();
      const copy = (name: string, timestamp: string): Parsed => {
        const entry = structuredClone(first);
        Object.assign(entry, { id: `${first.id}${name}`, auditId: `${first.auditId}${name}`, timestamp });
        Object.assign(entry.audit, { id: entry.auditId, timestamp });
        return entry;
      };
      const id = first.subjectId.replace(/.$/u, (end: string) => (end === '0' ? '1' : '0'));
      const next = copy('N', at(WEEK + 60_000));
      for (const part of [next, next.audit]) part.subjectId = id;
      Object.assign(next.state, { id, createdAt: next.timestamp });
      const result = copy('R', at(2 * WEEK));
      for (const part of [result, result.audit]) part.action = 'execution.completed';
      const { action, resourceType, resourceId, policies } = first.audit.details;
      Object.assign(result.state, { outcome: 'executed', completedAt: result.timestamp, ...change });
      const deciding = 'policies' in change ? change.policies : policies;
      result.audit.details = { action, resourceType, resourceId, policies: deciding };
      return [...entries, next, result];
    }

    it('is found to be as it was', async () => {
      expect(await verified(completedLate({}))).toMatch(/\nVALID\n$/);
    });

    it.each([{ policies: [] }, { observed: true }, { approvedUntil: '2099-01-01T00:00:00.000Z' }])(
      'is found to change %j',
      async (change) => {
        const output = await verified(completedLate(change));
        expect(output).toMatch(/FAULT decision: .*: exe_\w+ has other members than before, which never change/);
      },
    );
  });
});
