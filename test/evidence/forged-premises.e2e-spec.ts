import { registerThree } from '../changes/support';
import { ORIGIN } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { runVerifier } from '../support/processes/run-verifier';
import { entryOf } from './forged-file';
import { entriesOf, exportOf, sealEntries } from './forged-log';
import { keyAndLog } from './verified-file';

describe('The verifier, on premises and their senders that the holder of the signing key made up', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
    const dan = await signer(app, 'dan', []);
    const { ada } = await registerThree(app);
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const { secret: key } = await issueKey(app, { agentId: bot.id, scopes: ['propose'] });
    const post = async (path: string, body: object, sender?: string): Promise<Parsed> =>
      (await send(app, 'POST', `/api/v1${path}`, { body, ...(sender !== undefined && { key: sender }) })).body;
    await post('/decisions', { type: 'question', title: 'May I?', riskLevel: 'low', proposedBy: bot.id }, key);
    const { id: keyId } = await post('/api-keys', { name: 'spare', scopes: ['read'] });
    await send(app, 'POST', `/api/v1/api-keys/${keyId}/revoke`);
    const { id: passkeyId } = (await send(app, 'GET', `/api/v1/agents/${dan.agent.id}/passkeys`)).body.data[0];
    const removed = await send(app, 'POST', `/api/v1/agents/${dan.agent.id}/passkeys/${passkeyId}/remove`);
    expect(removed.status).toBe(200);
    const webhook = await post('/webhooks', { url: 'https://hooks.example.com/a', actions: ['*'] });
    await send(app, 'PATCH', `/api/v1/webhooks/${webhook['id']}`, { body: { description: 'All.' } });
    await send(app, 'DELETE', `/api/v1/webhooks/${webhook['id']}`);
    const stop = await post('/stops', { actions: ['dance'], reason: 'Too loud.' });
    await post(`/stops/${stop['id']}/lift`, { reason: 'Quiet now.' });
    await createPolicy(app, { name: 'reads', actions: ['read'] });
    const { rules, revision } = (await send(app, 'GET', '/api/v1/agents/bot/access')).body;
    await post('/agents/bot/access/review', { rules, revision }, ada.key);
    await post('/agents/bot/suspend', { reason: 'Odd.' });
    const { log } = await keyAndLog(app);
    const entries = entriesOf(log);
    const keyOf = (agentId: string): string =>
      entries.find((entry) => entry.action === 'api_key.created' && entry.state.agentId === agentId).subjectId;
    return { app, log, keys: { ada: keyOf(ada.id), bot: keyOf(bot.id) } };
  });

  const questionIn = (entries: Parsed[]): Parsed => entryOf({ entries }, 'decision.proposed').state;

  async function verdictOn(change: (entries: Parsed[]) => Parsed[]): Promise<string> {
    const entries = change(entriesOf(stage.log));
    sealEntries(entries);
    return (await runVerifier(['-'], exportOf(entries))).output;
  }

  it('finds none in an honest log', async () => {
    expect(await verdictOn((entries) => entries)).toMatch(/(?:^|\n)VALID\n$/);
  });

  it.each<[action: string, sender: 'ada' | 'bot', fault: RegExp]>([
    ['decision.proposed', 'ada', /which proposed the decision, is no key in force that is bound to agt_\w+/],
    ['api_key.created', 'bot', /which issued the key, had none of the scopes admin/],
    ['api_key.revoked', 'ada', /which revoked the key, had none of the scopes admin/],
    ['webhook.created', 'ada', /which created the webhook, had none of the scopes admin/],
    ['webhook.updated', 'ada', /which changed the webhook, had none of the scopes admin/],
    ['webhook.deleted', 'ada', /which deleted the webhook, had none of the scopes admin/],
    ['stop.created', 'bot', /which made the stop, had none of the scopes review/],
    ['stop.lifted', 'bot', /which lifted the stop, had none of the scopes review/],
  ])('finds that %s was not sent with a key that permits it', async (action, sender, fault) => {
    const output = await verdictOn((entries) => {
      entries.findLast((entry) => entry.action === action).audit.actor = { type: 'api_key', id: stage.keys[sender] };
      return entries;
    });
    expect(output).toMatch(fault);
    expect(output).toMatch(/\nINVALID: 1 fault\n$/);
  });

  it.each<[what: string, fault: string, change: (entries: Parsed[]) => void]>([
    [
      'a key that was revoked at another time',
      'the key has another time of its revocation',
      (entries) => {
        entryOf({ entries }, 'api_key.revoked').state.revokedAt = '2026-01-31T12:00:00.000Z';
      },
    ],
    [
      'a key that expired, although it does not end',
      'the key expired before its time',
      (entries) => {
        const entry = entryOf({ entries }, 'api_key.revoked');
        entry.action = entry.audit.action = 'api_key.expired';
        entry.audit.actor = { type: 'system', id: 'service' };
        Object.assign(entry.state, { status: 'expired', revokedAt: null });
      },
    ],
    [
      'a question of the type that changes have',
      'nobody proposes a decision of the type change_review',
      (entries) => {
        questionIn(entries).type = 'change_review';
      },
    ],
    [
      'a question with the time in which executions are resumed',
      'executeWithin is recorded as "PT1H"',
      (entries) => {
        questionIn(entries).executeWithin = 'PT1H';
      },
    ],
    [
      'a question that fewer people settle than it says',
      'requiredApprovals is recorded as 5',
      (entries) => {
        const approvers = [{ subjects: ['kind:human'], approvals: 1 }];
        Object.assign(questionIn(entries), { approvers, requiredApprovals: 5 });
        entryOf({ entries }, 'decision.proposed').audit.details.requiredApprovals = 5;
      },
    ],
    [
      'a question of an agent that nobody registered',
      'there is no entry of the agent agt_01M7W000000000000000000001',
      (entries) => {
        const { audit, state } = entryOf({ entries }, 'decision.proposed');
        state.proposedBy = audit.agentId = 'agt_01M7W000000000000000000001';
        audit.actor = { type: 'api_key', id: 'env' };
      },
    ],
    [
      'a passkey that another person removed',
      'may not remove the passkey',
      (entries) => {
        const actor = { type: 'api_key', id: stage.keys.ada };
        entryOf({ entries }, 'passkey.removed').audit.actor = actor;
      },
    ],
    [
      'a passkey that was removed of another person',
      'not for agt_',
      (entries) => {
        const { agentId } = entries.find(({ subjectId }) => subjectId === stage.keys.ada)?.['state'] ?? {};
        entryOf({ entries }, 'passkey.removed').audit.agentId = agentId;
      },
    ],
    [
      'a person who reviewed their own access',
      'reviewed its own access',
      (entries) => {
        const { subjectId } =
          entries.find(({ action, state }) => action === 'agent.created' && state.name === 'ada') ?? {};
        const { state } = entries.findLast((entry) => entry['subjectId'] === subjectId) ?? {};
        const entry = entryOf({ entries }, 'agent.access_reviewed');
        entry.subjectId = entry.audit.subjectId = entry.audit.agentId = subjectId;
        entry.state = state;
      },
    ],
    [
      'a review of access under rules that were not in force',
      'are not the 1 policies that were in force',
      (entries) => {
        entryOf({ entries }, 'agent.access_reviewed').audit.details.rules = 'a'.repeat(64);
      },
    ],
  ])('finds %s', async (_what, fault, change) => {
    const output = await verdictOn((entries) => {
      change(entries);
      return entries;
    });
    expect(output).toContain(fault);
    expect(output).toMatch(/\nINVALID: 1 fault\n$/);
  });

  it('finds a webhook that was created again after it was deleted', async () => {
    const output = await verdictOn((entries) => {
      const again = structuredClone(entries.find(({ action }) => action === 'webhook.created') ?? {});
      const { timestamp } = entries.at(-1) ?? {};
      Object.assign(again, { id: `${again['id']}9`, auditId: `${again['auditId']}9`, timestamp });
      again['audit'].id = again['auditId'];
      again['state'].createdAt = again['state'].updatedAt = timestamp;
      return [...entries, again];
    });
    expect(output).toMatch(/webhook\.created of the id whk_\w+, which was created before/);
  });

  it.each(['agent.created', 'policy.created'])('finds %s that was sent with a key of nobody', async (action) => {
    const output = await verdictOn((entries) => {
      entryOf({ entries }, action).audit.actor = { type: 'api_key', id: 'key_01M7W000000000000000000001' };
      return entries;
    });
    expect(output).toContain(`${action} was sent with the key key_01M7W000000000000000000001, which was not in force`);
  });

  it('finds a token that did what only admin does', async () => {
    const output = await verdictOn((entries) => {
      entries.findLast(({ action }) => action === 'webhook.created').audit.actor = { type: 'token', id: 'a token' };
      return entries;
    });
    expect(output).toContain('a token, which created the webhook, had not the scope admin');
  });

  it('finds a proposal of an agent that was suspended before', async () => {
    const output = await verdictOn((entries) => {
      const proposal = entries.findIndex(({ action }) => action === 'decision.proposed');
      const suspension = entries.findLast(({ action }) => action === 'agent.suspended');
      const { timestamp } = entries[proposal] ?? {};
      suspension.timestamp = suspension.state.updatedAt = timestamp;
      const others = entries.filter((entry) => entry !== suspension);
      return others.toSpliced(proposal, 0, suspension);
    });
    expect(output).toContain('it was proposed while the agent that proposed it was suspended');
  });
});
