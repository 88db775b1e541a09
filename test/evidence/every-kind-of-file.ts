import { setTimeout as sleep } from 'node:timers/promises';
import { ActionsModule } from '../support/application/actions.module';
import { ORIGIN } from '../support/application/authenticator';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { addClaim, createAgent, createEntity, createPolicy } from '../support/application/factories';
import { type Parsed, send } from '../support/application/send';
import { reviewer, signAndApprove, signedOf, signer } from '../support/application/signers';
import { AT_ONCE, everyKindOfChange } from './every-kind-of-change';
import { decisionFileOf } from './verified-file';

const HOUR = 3_600_000;
const TRACE = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
const GIVEN = { for: 'PT1H', parameters: 'same', resources: null, uses: null };

/** A service in which everything has happened that a decision file can be about, and the file of each. */
export interface EveryKind {
  readonly app: TestApp;
  /** Maps what is special about each file to its text. */
  readonly files: Readonly<Record<string, string>>;
  readonly publicKey: string;
}

export async function everyKindOfFile(): Promise<EveryKind> {
  const environment = {
    PUBLIC_URL: ORIGIN,
    PERMIT_AUDIENCES: 'bank',
    MAX_PENDING_APPROVALS: '40',
    FOUR_EYES: 'true',
    CHANGE_APPROVERS: '[{"subjects":["role:board"]}]',
  };
  const app = await createTestApp({ environment, modules: [ActionsModule] });
  const post = async (path: string, body: object = {}): Promise<Parsed> =>
    (await send(app, 'POST', `/api/v1${path}`, { body })).body;
  const execute = (action: string, resourceId: string, more: object = {}): Promise<Parsed> =>
    send(app, 'POST', '/api/v1/agents/bot/execute', {
      body: { action, resourceType: 'order', resourceId, parameters: { amount: 5 }, ...more },
      headers: TRACE,
    }).then(({ body }) => body);
  const lastOf = async (query: string): Promise<Parsed> =>
    (await send(app, 'GET', `/api/v1/executions?${query}&limit=1&order=desc`)).body.data[0];
  const review = (verdict: string, { decisionId }: Parsed, body: object): Promise<Parsed> =>
    post(`/decisions/${decisionId}/${verdict}`, body);

  const bot = await createAgent(app, { name: 'bot', capabilities: ['*'], roles: ['billing'] });
  await createAgent(app, { name: 'other', capabilities: ['*'], roles: ['billing'] });
  await createAgent(app, { name: 'sue', kind: 'human', roles: ['sales'] });
  await createAgent(app, { name: 'ben', kind: 'human', roles: ['finance', 'lead'] });
  await createAgent(app, { name: 'eve', kind: 'human', roles: ['security'] });
  const ann = await signer(app, 'ann', ['finance']);
  await createPolicy(app, { name: 'sends', actions: ['send', 'succeed', 'fail'] });
  await createPolicy(app, { name: 'vip', actions: ['call'], onBehalfOf: ['role:vip', 'role:sales'] });
  const limits = [
    { max: 12, of: '/amount', per: 'day', by: 'agent' },
    { max: 4, per: 'week', by: 'policy' },
  ];
  await createPolicy(app, { name: 'spends', actions: ['spend'], limits });
  const earlierCondition = { earlier: 'send', resource: 'same', op: 'exists', value: true };
  await createPolicy(app, { name: 'after', actions: ['refund', 'refund-more'], conditions: [earlierCondition] });
  await createPolicy(app, {
    name: 'pays',
    actions: ['pay'],
    conditions: [{ claim: 'iban', op: 'supports', parameter: '/iban', value: 0.9 }],
  });
  await createPolicy(app, { name: 'never', effect: 'deny', actions: ['swap'] });
  await createPolicy(app, { name: 'still', actions: ['swap'], priority: 1 });
  await createPolicy(app, { name: 'none', effect: 'deny', actions: ['drop'] });
  await createAgent(app, { name: 'singer', capabilities: ['*'], team: 'support' });
  await createPolicy(app, { name: 'of a team', actions: ['hum'], team: 'support' });
  const required = { effect: 'require_approval', actions: ['buy', 'look'] };
  const approval = {
    approvers: [{ subjects: ['role:finance'] }, { subjects: ['role:finance', 'role:security'] }],
    riskLevel: 'high',
    executeWithin: 'PT30M',
  };
  await createPolicy(app, { ...required, name: 'two', resources: ['big/*'], approval });
  const one = { approvers: [{ subjects: ['role:finance'] }], grant: { for: 'P1D', uses: 5, wider: true } };
  await createPolicy(app, { ...required, name: 'one', resources: ['small/*'], approval: one });
  const signed = { approvers: [{ subjects: ['role:finance'], signed: true }], grant: { for: 'P1D', wider: false } };
  await createPolicy(app, { ...required, name: 'signed', resources: ['signed/*'], approval: signed });
  const short = { ...one, decideWithin: 'PT1S', executeWithin: 'PT1S' };
  await createPolicy(app, { ...required, name: 'short', resources: ['short/*'], approval: short });

  const made: Record<string, Parsed> = {};
  made['reported'] = await execute('send', 'a', { run: 'r1', permit: { audience: 'bank' } });
  await post(`/executions/${made['reported'].id}/result`, { outcome: 'executed', result: { sent: 1 } });
  made['failed'] = await execute('send', 'b');
  await post(`/executions/${made['failed'].id}/result`, { outcome: 'failed', failureReason: 'Lost.' });
  made['handled'] = await execute('succeed', 'a');
  await execute('fail', 'a');
  made['not handled'] = await lastOf('action=fail');
  made['on behalf of a subject'] = await execute('call', 'a', {
    onBehalfOf: { subject: 'user:7', roles: ['vip'] },
  });
  made['on behalf of a person'] = await execute('call', 'a', { onBehalfOf: { subject: 'agent:sue' } });
  made['limited'] = await execute('spend', 'a');
  await execute('spend', 'a');
  await execute('spend', 'a');
  made['kept by a limit'] = await lastOf('action=spend');
  made['after another'] = await execute('refund', 'a', { run: 'r1' });
  await execute('refund', 'c', { run: 'r1' });
  made['after none'] = await lastOf('action=refund');
  const { id: entityId } = await createEntity(app);
  await addClaim(app, entityId, { predicate: 'iban', value: 'A', context: { confidence: 1 } });
  made['by claims'] = await execute('pay', `accounts/${entityId}`, { parameters: { iban: 'A' } });
  const hum = { action: 'hum', resourceType: 'order', resourceId: 'a', parameters: {} };
  made['by the policy of a team'] = await post('/agents/singer/execute', hum);
  made['by priority'] = await execute('swap', 'a');
  await execute('drop', 'a');
  made['denied'] = await lastOf('action=drop');
  const stop = await post('/stops', { agentId: bot.id, role: 'billing', actions: ['send'], reason: 'Odd.' });
  await execute('send', 'stopped');
  made['stopped'] = await lastOf('resourceId=stopped');
  await post(`/stops/${stop['id']}/lift`, { reason: 'Fine.' });

  const two = await execute('buy', 'big/1');
  await review('approve', two, { approverId: 'sue' });
  await review('reject', two, { approverId: 'sue' });
  await review('approve', two, { approverId: 'ben', comment: 'Yes.' });
  await review('approve', two, { approverId: 'eve' });
  await post('/agents/eve/suspend', { reason: 'Away.' });
  await post(`/executions/${two.id}/resume`);
  await post('/agents/eve/resume', { reason: 'Back.' });
  await post(`/executions/${two.id}/resume`, { permit: { audience: 'bank' } });
  made['approved by two'] = two;
  const cancelled = await execute('buy', 'big/2');
  await post(`/executions/${cancelled.id}/cancel`, { reason: 'No need.' });
  made['cancelled'] = cancelled;

  const toSign = await execute('look', 'signed/1');
  const { body: decision } = await send(app, 'GET', `/api/v1/decisions/${toSign.decisionId}`);
  const signature = ann.device.sign(signedOf(decision, ann.agent.id, GIVEN));
  const sent = { signature, grant: { for: 'PT1H' }, comment: 'As agreed.' };
  expect((await signAndApprove(app, toSign.decisionId, ann, sent)).status).toBe(200);
  await post(`/executions/${toSign.id}/resume`);
  made['signed'] = toSign;
  made['by a signed grant'] = await execute('look', 'signed/1');

  const small = await execute('buy', 'small/1');
  const grant = { for: 'PT30M', uses: 2, resources: ['small/*'], parameters: 'any' };
  await review('approve', small, { approverId: 'ben', grant });
  await post(`/executions/${small.id}/cancel`);
  made['given up'] = small;
  made['by a grant'] = await execute('buy', 'small/2', { onBehalfOf: undefined });
  made['by its last use'] = await execute('buy', 'small/3');
  const behalf = { onBehalfOf: { subject: 'user:7' } };
  const rejected = await execute('buy', 'small/9', behalf);
  const instead = { parameters: { amount: 4 } };
  await review('reject', rejected, { approverId: 'ben', comment: 'Less.', instead });
  made['rejected'] = rejected;
  await execute('buy', 'small/9', behalf);
  made['rejected before'] = await lastOf('action=buy&outcome=denied');
  made['granted instead'] = await execute('buy', 'small/9', { ...behalf, ...instead });
  const revoked = await execute('buy', 'small/8', { parameters: { amount: 1 } });
  await review('approve', revoked, { approverId: 'ben', grant: { for: 'PT1H' } });
  await post(`/executions/${revoked.id}/resume`);
  made['by a grant that was revoked'] = await execute('buy', 'small/8', { parameters: { amount: 1 } });
  await post(`/grants/${made['by a grant that was revoked']['grantId']}/revoke`, { reason: 'Enough.' });

  const stood = { approvers: [{ subjects: ['role:away'] }], executeWithin: 'PT30M' };
  await createPolicy(app, { ...required, name: 'away', resources: ['away/*'], approval: stood });
  const escalate = { after: 'PT1S', subjects: ['role:security'] };
  const waits = { approvers: [{ subjects: ['role:away'], escalate }, { subjects: ['role:finance'] }] };
  await createPolicy(app, { ...required, name: 'escalates', resources: ['late/*'], approval: waits });
  const ida = await reviewer(app, 'ida', ['away']);
  const path = `/api/v1/agents/${ida.agent.id}/delegations`;
  const inDays = (days: number): string => new Date(Date.now() + days * 24 * HOUR).toISOString();
  const delegate = async (body: object): Promise<Parsed> =>
    (await send(app, 'POST', path, { key: ida.key, body: { to: 'sue', ...body } })).body;
  const soon = new Date(Date.now() + 2_000).toISOString();
  const later = await delegate({ from: soon, until: inDays(3) });
  const made1 = await delegate({ until: inDays(7) });
  const inPlace = await execute('buy', 'away/1');
  await review('approve', inPlace, { approverId: 'sue', delegationId: made1['id'] });
  await send(app, 'POST', `${path}/${made1['id']}/end`, { key: ida.key });
  await post(`/executions/${inPlace.id}/resume`);
  made['approved in the place of another'] = inPlace;
  const tooLate = await execute('buy', 'late/1');
  await review('approve', tooLate, { approverId: 'ben' });
  while (
    (await send(app, 'GET', `/api/v1/decisions/${tooLate.decisionId}`)).body.approvers[0].escalate.at === undefined
  )
    await sleep(50);
  await review('approve', tooLate, { approverId: 'eve' });
  await post(`/executions/${tooLate.id}/resume`);
  made['escalated'] = tooLate;
  while ((await send(app, 'GET', `${path}/${later['id']}`)).body.status === 'waiting') await sleep(50);
  const declined = await execute('buy', 'away/2');
  await review('reject', declined, {
    approverId: 'sue',
    delegationId: later['id'],
    instead: { parameters: { amount: 2 } },
  });
  made['rejected in the place of another'] = declined;

  const { secret: gateway } = await post('/api-keys', { name: 'gateway', scopes: ['report'] });
  const reported = (id: string, body: object): Promise<unknown> =>
    send(app, 'POST', `/api/v1/executions/${id}/result`, { key: gateway, body });
  const lost = await execute('send', 'lost', { via: 'orders', run: 'r1' });
  await reported(lost.id, { outcome: 'failed', reason: 'outcome_unknown', failureReason: 'No answer came.' });
  made['through a gateway, with an unknown outcome'] = lost;
  const refused = await execute('send', 'lost', { via: 'orders' });
  made['refused after an unknown outcome'] = { id: refused.error.executionId };
  const repeating = { 'Governance-Repeat': lost.id };
  const again = { action: 'send', resourceType: 'order', resourceId: 'lost', parameters: { amount: 5 }, via: 'orders' };
  made['repeated after an unknown outcome'] = (
    await send(app, 'POST', '/api/v1/agents/bot/execute', { body: again, headers: { ...TRACE, ...repeating } })
  ).body;

  made['not decided in time'] = await execute('buy', 'short/1');
  const late = await execute('buy', 'short/2');
  await review('approve', late, { approverId: 'ben' });
  made['not resumed in time'] = late;
  const observeUntil = new Date(Date.now() + HOUR).toISOString();
  await send(app, 'PATCH', `/api/v1/agents/${bot.id}`, { body: { observeUntil } });
  made['observed'] = await execute('fly', 'a');
  const { rules, revision } = (await send(app, 'GET', '/api/v1/agents/bot/access')).body;
  const seenAccess = { key: ann.key, body: { rules, revision } };
  expect((await send(app, 'POST', '/api/v1/agents/bot/access/review', seenAccess)).status).toBe(200);
  made['after a review of access'] = await execute('send', 'reviewed');
  while ((await send(app, 'GET', `/api/v1/executions/${made['not decided in time']['id']}`)).body.completedAt === null)
    await sleep(50);
  while ((await send(app, 'GET', `/api/v1/executions/${late.id}`)).body.completedAt === null) await sleep(50);
  Object.assign(made, await everyKindOfChange(app));
  const urgent = { headers: AT_ONCE, body: { capabilities: ['*'] } };
  expect((await send(app, 'PATCH', '/api/v1/agents/urgent', urgent)).status).toBe(200);
  const sends = { action: 'send', resourceType: 'order', resourceId: 'a', parameters: {} };
  made['of an agent that was changed in an emergency'] = await post('/agents/urgent/execute', sends);
  const hasty = { headers: AT_ONCE, body: { name: 'hasty', capabilities: ['*'] } };
  expect((await send(app, 'POST', '/api/v1/agents', hasty)).status).toBe(201);
  made['of an agent that was made in an emergency'] = await post('/agents/hasty/execute', sends);
  const files: Record<string, string> = {};
  for (const [name, execution] of Object.entries(made)) files[name] = await decisionFileOf(app, execution as never);
  const { publicKey } = (await send(app, 'GET', '/api/v1/provenance/checkpoint')).body;
  return { app, files, publicKey };
}
