import { createTestApp } from '../support/application/create-test-app';
import { ORIGIN, SoftwareAuthenticator } from '../support/application/authenticator';
import { createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';

/** Checks the answer of an operation, by its id and the status that it should have. */
export type CheckAnswer = (id: string, status: number, answer: Answer) => void;

export async function registerAndRemovePasskey(check: CheckAnswer): Promise<void> {
  const app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
  const [person, bot] = [
    await createAgent(app, { name: 'ann', kind: 'human' }),
    await createAgent(app, { name: 'bot' }),
  ];
  const { secret: key } = await issueKey(app, { agentId: person.id, scopes: ['review'] });
  const { secret: botKey } = await issueKey(app, { agentId: bot.id, scopes: ['review'] });
  const device = new SoftwareAuthenticator();
  const [path, ofBot] = [person, bot].map(({ id }) => `/api/v1/agents/${id}/passkeys`) as [string, string];
  const options = await send(app, 'POST', `${path}/options`, { key });
  check('passkeys_options', 200, options);
  const body = { credential: device.create(options.body['challenge']), name: 'Phone' };
  const registered = await send(app, 'POST', path, { key, body });
  check('passkeys_register', 201, registered);
  const { id } = registered.body;
  check('passkeys_register', 409, await send(app, 'POST', path, { key, body }));
  check('passkeys_options', 409, await send(app, 'POST', `${ofBot}/options`, { key: botKey }));
  check('passkeys_list', 409, await send(app, 'GET', ofBot));
  check('passkeys_get', 200, await send(app, 'GET', `${path}/${id}`));
  check('passkeys_get', 409, await send(app, 'GET', `${ofBot}/${id}`));
  check('passkeys_remove', 409, await send(app, 'POST', `${ofBot}/${id}/remove`));
  check('passkeys_remove', 200, await send(app, 'POST', `${path}/${id}/remove`));
  await app.close();
}

export async function delegateAndEnd(check: CheckAnswer): Promise<void> {
  const app = await createTestApp();
  const [person, bot] = [
    await createAgent(app, { name: 'ann', kind: 'human' }),
    await createAgent(app, { name: 'bot' }),
  ];
  await createAgent(app, { name: 'ben', kind: 'human' });
  const { secret: key } = await issueKey(app, { agentId: person.id, scopes: ['review'] });
  const [path, ofBot] = [person, bot].map(({ id }) => `/api/v1/agents/${id}/delegations`) as [string, string];
  const body = { to: 'ben', until: new Date(Date.now() + 86_400_000).toISOString() };
  const created = await send(app, 'POST', path, { key, body });
  check('delegations_create', 201, created);
  const { id } = created.body;
  for (let more = 0; more < 4; more += 1) await send(app, 'POST', path, { key, body });
  check('delegations_create', 409, await send(app, 'POST', path, { key, body }));
  check('delegations_list', 200, await send(app, 'GET', path));
  check('delegations_list', 409, await send(app, 'GET', ofBot));
  check('delegations_get', 200, await send(app, 'GET', `${path}/${id}`));
  check('delegations_get', 409, await send(app, 'GET', `${ofBot}/${id}`));
  check('delegations_end', 409, await send(app, 'POST', `${ofBot}/${id}/end`));
  check('delegations_end', 200, await send(app, 'POST', `${path}/${id}/end`, { key }));
  await app.close();
}

export async function reviewAccess(check: CheckAnswer): Promise<void> {
  const app = await createTestApp();
  const person = await createAgent(app, { name: 'ann', kind: 'human' });
  await createAgent(app, { name: 'bot', capabilities: ['pay'] });
  await createPolicy(app, { actions: ['pay'] });
  const { secret: key } = await issueKey(app, { agentId: person.id, scopes: ['review'] });
  const access = await send(app, 'GET', '/api/v1/agents/bot/access?since=2020-01-01');
  check('access_get', 200, access);
  expect([access.body.allowed.length > 0, access.body.changes.length > 0]).toEqual([true, true]);
  const { rules, revision } = access.body as { rules: string; revision: number };
  const path = '/api/v1/agents/bot/access/review';
  check('access_review', 200, await send(app, 'POST', path, { key, body: { rules, revision } }));
  check('access_review', 409, await send(app, 'POST', path, { key, body: { rules, revision: revision + 1 } }));
  const unreviewed = await send(app, 'GET', '/api/v1/access-reviews');
  check('access_unreviewed', 200, unreviewed);
  expect(unreviewed.body.data).toHaveLength(1);
  await app.close();
}
