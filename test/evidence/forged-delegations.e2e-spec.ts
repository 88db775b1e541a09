import { ORIGIN } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { reviewer, signedOf, signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

describe('The verifier, on what only a person may do and the holder of the signing key made up', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
    const bot = await createAgent(app, { name: 'bot', capabilities: ['pay'] });
    const ann = await reviewer(app, 'ann', ['finance']);
    const eve = await signer(app, 'eve', []);
    const approval = { riskLevel: 'critical', approvers: [{ subjects: ['role:finance'], signed: true }] };
    await createPolicy(app, { name: 'pays', effect: 'require_approval', actions: ['pay'], approval });
    const { rules, revision } = (await send(app, 'GET', '/api/v1/agents/bot/access')).body;
    const seen = { key: ann.key, body: { rules, revision } };
    expect((await send(app, 'POST', '/api/v1/agents/bot/access/review', seen)).status).toBe(200);
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const made = { key: ann.key, body: { to: 'eve', until } };
    const delegation = (await send(app, 'POST', '/api/v1/agents/ann/delegations', made)).body;
    const requested = { action: 'pay', resourceType: 'bill', resourceId: 'b', parameters: { amount: 5 } };
    const execution: Parsed = (await send(app, 'POST', '/api/v1/agents/bot/execute', { body: requested })).body;
    const path = `/api/v1/decisions/${execution.decisionId}`;
    const signed = { ...signedOf((await send(app, 'GET', path)).body, eve.agent.id), delegationId: delegation.id };
    const body = { delegationId: delegation.id, signature: eve.device.sign(signed) };
    expect((await send(app, 'POST', `${path}/approve`, { key: eve.key, body })).status).toBe(200);
    const resumed = await send(app, 'POST', `/api/v1/executions/${execution.id}/resume`);
    expect(resumed.body.outcome).toBe('authorized');
    return { app, bot, ann, eve, delegation, execution, ...(await keyAndLog(app)) };
  });

  async function forged(change: (entries: Parsed[], ids: Set<string>) => Parsed[] | undefined): Promise<string> {
    const text = await decisionFileOf(stage.app, stage.execution as { id: string });
    const { log, publicKey, ...file } = forgeLog(
      { text, log: stage.log },
      (entries, ids) => change(entries, ids) ?? entries,
    );
    return (await verifyFile(file.text, publicKey, log)).output;
  }
  const entryOf = (entries: Parsed[], action: string): Parsed => entries.find((entry) => entry.action === action);
  const keyOf = (entries: Parsed[], { agent }: { agent: { id: string } }): string =>
    entries.find(({ action, state }) => action === 'api_key.created' && state.agentId === agent.id).subjectId;

  it('recomputes it as it was, and notes with which key the delegation was sent', async () => {
    const { app, execution, publicKey, log } = stage;
    const text = await decisionFileOf(app, execution as { id: string });
    const { output } = await verifyFile(text, publicKey, log);
    expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
    expect(output).toMatch(/NOTE The delegation \w+ was sent with the key key_\w+; no device signs delegations\./);
    expect(await forged(() => undefined)).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
  });

  it('finds a delegation to a machine, also without an export', async () => {
    const { app, eve, ann, execution } = stage;
    for (const [{ agent }, whose] of [
      [eve, 'the kind of the agent to whom the delegation was'],
      [ann, 'the kind of the agent who delegated'],
    ] as const) {
      const text = await decisionFileOf(app, execution as { id: string });
      const { publicKey, ...file } = forgeLog({ text, log: stage.log }, (entries) => {
        for (const { subjectId, state } of entries) if (subjectId === agent.id) state.kind = 'machine';
        return entries;
      });
      const { output } = await verifyFile(file.text, publicKey);
      expect(output).toContain(`${whose} is recorded as "machine", and computed as "human"`);
      expect(output).toMatch(/\nDIFFERS: .*\n$/);
    }
  });

  it.each([
    ['the delegation', 'delegation.created', 'made the delegation'],
    ['the review of access', 'agent.access_reviewed', 'reviewed the access'],
  ])('finds that %s was sent with the key of somebody else, or of the operator', async (_what, action, text) => {
    for (const key of ['env', 'key_other', null]) {
      const output = await forged((entries) => {
        entryOf(entries, action).audit.actor.id = key ?? keyOf(entries, stage.eve);
        return entries;
      });
      if (key !== 'env')
        expect(output).toMatch(new RegExp(`the key key_\\w+, which ${text}, is no key in force that is bound to agt_`));
      else expect(output).toContain(`the service writes no ${action} with the actor {"id":"env","type":"api_key"}`);
      expect(output).toMatch(/\nDIFFERS: .*\n$/);
    }
  });

  it.each([
    ['decision.approved', 'reviewed the decision'],
    ['execution.approval_requested', 'requested the execution'],
    ['execution.resumed', 'resumed the execution'],
  ])('finds that %s was sent with the key of another agent', async (action, text) => {
    const output = await forged((entries) => {
      entryOf(entries, action).audit.actor = { type: 'api_key', id: keyOf(entries, stage.ann) };
      return entries;
    });
    expect(output).toMatch(
      new RegExp(`DIFFERENCE entry \\d+: the key key_\\w+, which ${text}, is no key in force that is bound to agt_`),
    );
  });

  it.each([
    ['to a person who was suspended then', 'eve', /agt_\w+, to whom the delegation was, was no active person/],
    ['by a person who was suspended then', 'ann', /agt_\w+, who made the delegation, was suspended/],
  ] as const)('finds a delegation %s', async (_how, name, difference) => {
    const { id } = stage[name].agent;
    const output = await forged((entries, ids) => {
      const at = entries.findIndex(({ action }) => action === 'delegation.created');
      const { timestamp } = entries[at];
      const created = entries.find(({ action, subjectId }) => action === 'agent.created' && subjectId === id);
      const changed = (action: string, status: string, revision: number): Parsed => {
        const entry = structuredClone(created);
        Object.assign(entry, {
          id: `${entry.id}${revision}`,
          auditId: `${entry.auditId}${revision}`,
          action,
          timestamp,
        });
        Object.assign(entry.audit, { id: entry.auditId, action });
        Object.assign(entry.state, { status, revision, updatedAt: timestamp });
        return entry;
      };
      const resumed = changed('agent.resumed', 'active', 3);
      ids.delete(created.id);
      ids.add(resumed.id);
      for (const { audit } of entries) {
        const { details } = audit;
        if (details.approverRevision !== undefined && audit.agentId === id) details.approverRevision = 3;
        if (details.delegator?.agentId === id) details.delegator.revision = 3;
        for (const approver of details.approvers ?? []) if (approver.agentId === id) approver.revision = 3;
      }
      const suspended = changed('agent.suspended', 'suspended', 2);
      return entries.toSpliced(at, 0, suspended).toSpliced(at + 2, 0, resumed);
    });
    expect(output).toMatch(difference);
    expect(output).toMatch(/\nDIFFERS: .*\n$/);
  });

  it('finds a machine that became a person', async () => {
    const output = await forged((entries) => {
      const { id } = stage.eve.agent;
      const at = entries.findIndex(({ action, subjectId }) => action === 'agent.created' && subjectId === id);
      const machine = structuredClone(entries[at]);
      Object.assign(machine, { id: `${machine.id}2`, auditId: `${machine.auditId}2` });
      machine.audit.id = machine.auditId;
      delete machine.state.kind;
      return entries.toSpliced(at, 0, machine);
    });
    expect(output).toMatch(/FAULT .*the kind "human" of the agent was "machine" before/);
    expect(output).toMatch(/\nINVALID: .*\n$/);
  });
});
