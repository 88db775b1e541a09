import { ORIGIN } from '../support/application/authenticator';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { reviewer, signAndApprove, signer } from '../support/application/signers';
import { stageOf } from '../support/application/stage';
import { forgeLog } from './forged-log';
import { decisionFileOf, keyAndLog, verifyFile } from './verified-file';

type Change = (entries: Parsed[]) => Parsed[];
type Subject = 'question' | 'lookup' | 'payment' | 'call' | 'withdrawal';

const SLACK_ID = 'T024BE7LD/U024BE7LH';

describe('The verifier, on senders whom the holder of the signing key made up', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
    const bot = await createAgent(app, { name: 'bot', capabilities: ['*'] });
    const bound = { agentId: bot.id, scopes: ['execute'], principals: ['user:*', 'role:gold'] };
    const { secret: key } = await issueKey(app, bound);
    const gateway = await issueKey(app, { scopes: ['report'] });
    const ann = await signer(app, 'ann', ['finance']);
    const eve = await reviewer(app, 'eve', ['finance']);
    expect((await send(app, 'PATCH', `/api/v1/agents/${eve.agent.id}`, { body: { slackId: SLACK_ID } })).status).toBe(
      200,
    );
    const required = { effect: 'require_approval' };
    const signed = { approvers: [{ subjects: ['role:finance'], signed: true }] };
    await createPolicy(app, { ...required, name: 'signed', actions: ['pay'], approval: signed });
    await createPolicy(app, {
      ...{ ...required, name: 'plain', actions: ['ask'] },
      approval: { approvers: [{ subjects: ['agent:eve'] }], grant: { for: 'PT1H' } },
    });
    await createPolicy(app, { name: 'free', effect: 'allow', actions: ['look'], onBehalfOf: ['user:*'] });
    const execute = async (action: string, more = {}): Promise<Parsed> => {
      const body = { action, resourceType: 'bill', resourceId: 'a', parameters: {}, ...more };
      return (await send(app, 'POST', '/api/v1/agents/bot/execute', { key, body })).body;
    };
    const resume = async ({ id }: Parsed): Promise<void> => {
      expect((await send(app, 'POST', `/api/v1/executions/${id}/resume`, { key })).status).toBe(200);
    };
    const report = async ({ id }: Parsed, sender: string): Promise<void> => {
      const body = { outcome: 'executed', result: {} };
      expect((await send(app, 'POST', `/api/v1/executions/${id}/result`, { key: sender, body })).status).toBe(200);
    };
    const payment = await execute('pay');
    expect((await signAndApprove(app, payment.decisionId, ann)).status).toBe(200);
    await resume(payment);
    const principal = { onBehalfOf: { subject: 'user:x', roles: ['gold'] } };
    const question = await execute('ask', principal);
    const path = `/api/v1/decisions/${question.decisionId}/approve`;
    expect((await send(app, 'POST', path, { key: eve.key, body: {} })).status).toBe(200);
    await resume(question);
    const lookup = await execute('look', principal);
    await report(lookup, key);
    const call = await execute('look', { ...principal, via: 'payments' });
    await report(call, gateway.secret);
    const withdrawal = await execute('ask');
    expect((await send(app, 'POST', `/api/v1/executions/${withdrawal.id}/cancel`, { key })).status).toBe(200);
    return { app, bot, ann, eve, gateway, question, lookup, payment, call, withdrawal, ...(await keyAndLog(app)) };
  });

  async function forged(subject: Subject, change: Change): Promise<string> {
    const text = await decisionFileOf(stage.app, stage[subject] as { id: string });
    const { log, publicKey, ...file } = forgeLog({ text, log: stage.log }, change);
    return (await verifyFile(file.text, publicKey, log)).output;
  }
  const keyOf = (entries: Parsed[], agentId: string | null): Parsed =>
    entries.find(({ action, state }) => action === 'api_key.created' && state.agentId === agentId);
  const withScopes =
    (agentId: () => string, scopes: string[]): Change =>
    (entries) => {
      const { state, audit } = keyOf(entries, agentId());
      state.scopes = audit.details.scopes = scopes;
      return entries;
    };
  const expiring = (agentId: string, action: string, { id }: Parsed, entries: Parsed[]): Parsed[] => {
    const { state, audit } = keyOf(entries, agentId);
    const sent = entries.find((entry) => entry.action === action && entry.subjectId === id);
    state.expiresAt = audit.details.expiresAt = sent?.timestamp;
    return entries;
  };
  const withPrincipals =
    (principals?: string[]): Change =>
    (entries) => {
      const { state } = keyOf(entries, stage.bot.id);
      if (principals === undefined) delete state.principals;
      else state.principals = principals;
      return entries;
    };
  const sendAs = (entries: Parsed[], subject: Subject, actor: object, actions: string[]): Parsed[] => {
    const { id, decisionId } = stage[subject];
    for (const { action, subjectId, audit } of entries)
      if (actions.includes(action) && [id, decisionId].includes(subjectId)) audit.actor = { ...audit.actor, ...actor };
    return entries;
  };
  /** A copy of a key that is bound to nobody, made after it. */
  const withUnbound = (entries: Parsed[], entry: Parsed, scopes: string[]): { id: string; log: Parsed[] } => {
    const copy = structuredClone(entry);
    const id = `${entry.subjectId.slice(0, -3)}ZZZ`;
    Object.assign(copy, { id: `${copy.id}U`, auditId: `${copy.auditId}U`, subjectId: id });
    Object.assign(copy.audit, { id: copy.auditId, subjectId: id, agentId: null });
    Object.assign(copy.state, { id, agentId: null });
    delete copy.state.principals;
    copy.state.scopes = copy.audit.details.scopes = scopes;
    return { id, log: entries.toSpliced(entries.indexOf(entry) + 1, 0, copy) };
  };
  const REVIEW = ['decision.approved', 'execution.approved'];

  it.each<[Subject, string]>([
    ['payment', 'authorized'],
    ['question', 'authorized'],
    ['lookup', 'executed'],
    ['call', 'executed'],
    ['withdrawal', 'cancelled'],
  ])('recomputes the %s as it was', async (subject, outcome) => {
    const { app, publicKey, log } = stage;
    const text = await decisionFileOf(app, stage[subject] as { id: string });
    expect((await verifyFile(text, publicKey, log)).output).toMatch(
      new RegExp(`\nRECOMPUTED: ${outcome} as recorded\n$`),
    );
    expect(await forged(subject, (entries) => entries)).toMatch(/\nRECOMPUTED: /);
  });

  const CASES: Record<string, [Subject, Change, string]> = {
    'a review with a key that is bound to nobody': [
      'question',
      (entries) => {
        const { id, log } = withUnbound(entries, keyOf(entries, stage.eve.agent.id), ['review']);
        return sendAs(log, 'question', { id }, REVIEW);
      },
      'which reviewed the decision, is no key in force that is bound to agt_',
    ],
    'a review with a key without the scope': [
      'question',
      withScopes(() => stage.eve.agent.id, ['read', 'execute']),
      'which reviewed the decision, had none of the scopes review',
    ],
    'a request with a key without the scope': [
      'lookup',
      withScopes(() => stage.bot.id, ['read', 'review']),
      'which requested the execution, had none of the scopes execute',
    ],
    'a passkey that was registered with a key without the scope': [
      'payment',
      withScopes(() => stage.ann.agent.id, ['execute']),
      'which registered the passkey, had none of the scopes review',
    ],
    'a review with a key that had expired, without an entry that says so': [
      'question',
      (entries) => expiring(stage.eve.agent.id, 'decision.approved', { id: stage.question.decisionId }, entries),
      'which reviewed the decision, is no key in force that is bound to agt_',
    ],
    'a request with a key that had expired': [
      'lookup',
      (entries) => expiring(stage.bot.id, 'execution.authorized', stage.lookup, entries),
      'which requested the execution, is no key in force that is bound to agt_',
    ],
    'an approval that a key took up for somebody else': [
      'question',
      withPrincipals(['user:y', 'role:gold']),
      'which resumed the execution, may not act on behalf of user:x',
    ],
    'an allowance that rests on whom a key without principals named': [
      'lookup',
      withPrincipals(),
      'which requested the execution, may not act on behalf of user:x',
    ],
    'a role that the key may not give its principal': [
      'lookup',
      withPrincipals(['user:*']),
      'which requested the execution, may not give user:x the role gold',
    ],
    'a request by Slack': [
      'lookup',
      (entries) => sendAs(entries, 'lookup', { type: 'slack', id: SLACK_ID }, ['execution.authorized']),
      'the service writes no execution.authorized with the actor',
    ],
    'a signed approval by Slack': [
      'payment',
      (entries) => {
        for (const { subjectId, state } of entries) if (subjectId === stage.ann.agent.id) state.slackId = 'T1/U1';
        return sendAs(entries, 'payment', { type: 'slack', id: 'T1/U1' }, REVIEW);
      },
      'a review in Slack has a signature',
    ],
    'a review in Slack by somebody else': [
      'question',
      (entries) => sendAs(entries, 'question', { type: 'slack', id: 'T1/U1' }, REVIEW),
      'the Slack id of the reviewer is recorded as "T024BE7LD/U024BE7LH", and computed as "T1/U1"',
    ],
    'an approval that others than its reviewer settled': [
      'question',
      (entries) => sendAs(entries, 'question', { id: 'env' }, ['execution.approved']),
      'the caller who settled it is recorded as',
    ],
    'a result that another agent reported': [
      'lookup',
      (entries) => {
        const { subjectId: id } = keyOf(entries, stage.ann.agent.id);
        return sendAs(entries, 'lookup', { id }, ['execution.completed']);
      },
      'which reported the result, is no key in force that is bound to agt_',
    ],
    'what a gateway served and the operator’s key reported': [
      'call',
      (entries) => sendAs(entries, 'call', { id: 'env' }, ['execution.completed']),
      'the key env, which reported the result, had none of the scopes report',
    ],
    'what a gateway served and a token reported': [
      'call',
      (entries) => sendAs(entries, 'call', { type: 'token', id: 'https://id.example#bot' }, ['execution.completed']),
      'the token of https://id.example#bot reports nothing that a gateway served',
    ],
    'a result that the service reported without a gateway': [
      'lookup',
      (entries) => sendAs(entries, 'lookup', { type: 'system', id: 'service' }, ['execution.completed']),
      'the service waits a day for the report of a gateway, and for no other',
    ],
    'what a gateway served and the agent reported': [
      'call',
      (entries) => sendAs(entries, 'call', { id: keyOf(entries, stage.bot.id).subjectId }, ['execution.completed']),
      'which reported the result, had none of the scopes report',
    ],
    'a result that a gateway reported and had not served': [
      'lookup',
      (entries) => sendAs(entries, 'lookup', { id: stage.gateway.id }, ['execution.completed']),
      'which reported the result, had none of the scopes execute',
    ],
    'a request that another agent cancelled': [
      'withdrawal',
      (entries) => {
        const { subjectId: id } = keyOf(entries, stage.ann.agent.id);
        return sendAs(entries, 'withdrawal', { id }, ['execution.cancelled', 'decision.cancelled']);
      },
      'which cancelled the execution, is no key in force that is bound to agt_',
    ],
    'an agent of another team than the key': [
      'lookup',
      (entries) => {
        const { state, audit } = keyOf(entries, stage.bot.id);
        Object.assign(state, { agentId: null, team: 'support' });
        Object.assign(audit, { agentId: null, details: { ...audit.details, team: 'support' } });
        return entries;
      },
      'which requested the execution, is of the team support, and the agent is not',
    ],
  };

  it.each(Object.keys(CASES))('finds %s', async (name) => {
    const [subject, change, expected] = CASES[name] ?? [];
    if (subject === undefined || change === undefined) throw new Error(name);
    const output = await forged(subject, change);
    expect(output).toContain(expected);
    expect(output).toMatch(/\n(?:DIFFERS|INVALID): .*\n$/);
  });

  it.each<[string, scopes: string[], members: object]>([
    ['a key has the scope report beside others', ['execute', 'report'], {}],
    ['a key with the scope report is bound', ['report'], {}],
    ['a key with the scope directory is bound', ['directory'], {}],
    ['a key with the scope admin is bound', ['execute', 'admin'], {}],
    ['the key of a team is bound', ['execute'], { team: 'support' }],
    ['the key of a team has a scope that no team has', ['execute', 'audit'], { team: 'support', agentId: null }],
  ])('finds that %s', async (fault, scopes, members) => {
    const output = await forged('lookup', (entries) => {
      const { state } = keyOf(withScopes(() => stage.bot.id, scopes)(entries), stage.bot.id);
      Object.assign(state, members);
      return entries;
    });
    expect(output).toContain(`: ${fault}\n`);
    expect(output).toMatch(/\nINVALID: .*\n$/);
  });

  it('recomputes a review that its reviewer sent with Slack', async () => {
    const output = await forged('question', (entries) =>
      sendAs(entries, 'question', { type: 'slack', id: SLACK_ID }, REVIEW),
    );
    expect(output).toMatch(/\nRECOMPUTED: authorized as recorded\n$/);
  });
});
