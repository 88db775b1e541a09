import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { send, type Sent } from '../support/application/send';
import { FOUR_EYES, type Person, register } from './support';

/** An application that holds changes back, and a request of each route that does. */
export interface HeldStage {
  readonly app: TestApp;
  readonly ada: Person;
  readonly ben: Person;
  readonly requests: ReadonlyMap<string, HeldRequest>;
}

/** A request of a route. */
export type HeldRequest = readonly [method: string, path: string, sent?: Sent];

/**
 * Makes what the requests need before anything is held back.
 * @param registerSecond registers the second person who can review, from whom on changes are held back.
 */
export async function startHeld(
  further: Readonly<Record<string, string>> = {},
  registerSecond: (app: TestApp) => Promise<Person> = (app) => register(app, 'ben'),
): Promise<HeldStage> {
  const environment = { ...FOUR_EYES, RATE_LIMIT: '1000000', RETAIN_AT_LEAST: 'PT0S', WEBHOOK_ALLOW_HTTP: 'true' };
  const app = await createTestApp({ environment: { ...environment, ...further } });
  const { id: bot } = await createAgent(app, { name: 'bot', capabilities: ['look'] });
  const { id: still } = await createAgent(app, { name: 'still', capabilities: [] });
  await send(app, 'POST', `/api/v1/agents/${still}/suspend`);
  const policy = await createPolicy(app, { name: 'in force' });
  const idle = await createPolicy(app, { name: 'out of force' });
  await send(app, 'POST', `/api/v1/policies/${idle.id}/deactivate`);
  const entity = await send(app, 'POST', '/api/v1/entities', { body: { type: 'service', name: 'Gateway' } });
  const stop = await send(app, 'POST', '/api/v1/stops', { body: { agentId: bot, reason: 'A test.' } });
  const hook = { url: 'https://hooks.example.com/a', actions: ['policy.*'] };
  const webhook = (await send(app, 'POST', '/api/v1/webhooks', { body: hook })).body.id;
  const ada = await register(app, 'ada');
  await send(app, 'PUT', `/api/v1/agents/${ada.id}/email`, { body: { email: 'ada@example.com' } });
  const plan = await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [] } });
  const ben = await registerSecond(app);
  const newPolicy = { name: 'new', version: '1', effect: 'allow', subjects: ['*'], actions: ['x'], resources: ['*'] };
  const requests = new Map<string, HeldRequest>([
    ['policies_create', ['POST', '/api/v1/policies', { body: newPolicy }]],
    ['policies_activate', ['POST', `/api/v1/policies/${idle.id}/activate`]],
    ['policies_deactivate', ['POST', `/api/v1/policies/${policy.id}/deactivate`]],
    ['policySets_apply', ['POST', '/api/v1/policies/apply', { body: { base: plan.body.base, policies: [newPolicy] } }]],
    ['agents_create', ['POST', '/api/v1/agents', { body: { name: 'another', capabilities: [] } }]],
    ['agents_update', ['PATCH', `/api/v1/agents/${bot}`, { body: { roles: ['ops'], description: 'x' } }]],
    ['agents_resume', ['POST', `/api/v1/agents/${still}/resume`]],
    ['agents_setEmail', ['PUT', `/api/v1/agents/${ada.id}/email`, { body: { email: 'eve@example.com' } }]],
    ['agents_removeEmail', ['DELETE', `/api/v1/agents/${ada.id}/email`]],
    ['apiKeys_issue', ['POST', '/api/v1/api-keys', { body: { name: 'k', scopes: ['read'] } }]],
    ['webhooks_create', ['POST', '/api/v1/webhooks', { body: hook }]],
    ['webhooks_update', ['PATCH', `/api/v1/webhooks/${webhook}`, { body: { description: 'x' } }]],
    ['webhooks_rotateSecret', ['POST', `/api/v1/webhooks/${webhook}/rotate-secret`]],
    ['webhooks_replay', ['POST', `/api/v1/webhooks/${webhook}/replay`, { body: { after: 0 } }]],
    ['webhooks_remove', ['DELETE', `/api/v1/webhooks/${webhook}`]],
    ['stops_lift', ['POST', `/api/v1/stops/${stop.body.id}/lift`, { body: { reason: 'Over.' } }]],
    [
      'erasures_create',
      ['POST', '/api/v1/erasures', { body: { subjects: [{ type: 'entity', id: entity.body.id }], reason: 'A test.' } }],
    ],
  ]);
  return { app, ada, ben, requests };
}
