import { setTimeout as sleep } from 'node:timers/promises';
import { company, type Company } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, propose } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';

const WEBHOOKS = '/api/v1/webhooks';
const DELIVERING = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' };
const ACTIONS = ['decision.proposed', 'decision.escalated'];

describe('Channels for approvers', () => {
  let app: TestApp;
  let people: Company;
  const endpoints: WebhookEndpoint[] = [];

  beforeAll(async () => {
    app = await createTestApp({ environment: DELIVERING });
    people = await company(app);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
    await Promise.all(endpoints.map((endpoint) => endpoint.close()));
  });

  const create = (body: object): Promise<Answer> =>
    send(app, 'POST', WEBHOOKS, { body: { actions: ACTIONS, ...body } });
  const channel = async (...approvers: string[]): Promise<WebhookEndpoint> => {
    const endpoint = await WebhookEndpoint.start();
    endpoints.push(endpoint);
    const { status, body } = await create({ url: endpoint.url, format: 'slack', approvers });
    expect([status, body.approvers]).toEqual([201, approvers]);
    return endpoint;
  };
  const idsIn = (endpoint: WebhookEndpoint): string[] =>
    endpoint.received.map(({ body }) => /dec_\w+/.exec(JSON.stringify(body))?.[0] ?? '');

  it('get only decisions with a group that names them, as text, and what escalates to them', async () => {
    const [finance, security] = [await channel('role:finance', 'cfo'), await channel('role:security')];
    const group = (subject: string, more: object = {}): object => ({ subjects: [subject], ...more });
    const proposeTo = async (...approvers: object[]): Promise<string> =>
      (await propose(app, people.bot.id, { approvers })).id;
    const [first, second] = [await proposeTo(group('role:finance')), await proposeTo(group('role:security'))];
    await proposeTo(group('role:*'));
    await propose(app, people.bot.id);
    const both = await proposeTo(group('role:security'), group('cfo'));
    const escalating = await proposeTo(
      group('role:finance', { escalate: { after: 'PT1S', subjects: ['role:security'] } }),
    );
    await finance.until(4);
    await security.until(3);
    expect(idsIn(finance)).toEqual([first, both, escalating, escalating]);
    expect(idsIn(security)).toEqual([second, both, escalating]);
    const { data } = (await send(app, 'GET', WEBHOOKS)).body;
    // Deliveries pass entries that do not concern them.
    for (const { id } of data as Parsed[])
      while ((await send(app, 'GET', `${WEBHOOKS}/${id}`)).body.delivery.sequence === 0) await sleep(50);
  });

  it('are for chats alone, and name subjects', async () => {
    const url = 'https://chat.example/T1/secret';
    for (const [field, body] of [
      ['approvers', { approvers: ['role:finance'] }],
      ['approvers', { format: 'ocsf', approvers: ['role:finance'] }],
      ['approvers', { format: 'teams', approvers: [] }],
      ['approvers[0]', { format: 'teams', approvers: ['kind:robot'] }],
    ] as const)
      expect([field, Object.keys(faults(await create({ url, ...body })))]).toEqual([field, [field]]);
    expect((await create({ url, format: 'teams', approvers: null })).body.approvers).toEqual([]);
  });
});
