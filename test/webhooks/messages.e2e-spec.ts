import { createHash } from 'node:crypto';
import { approve, company, type Company, pending, reject, requireApproval } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, propose } from '../support/application/factories';
import { faults, type Parsed, send, type Answer } from '../support/application/send';
import { WebhookEndpoint } from '../support/application/webhook-endpoint';
import { schemaFaults } from './published-schemas';

const WEBHOOKS = '/api/v1/webhooks';
const PUBLIC_URL = 'https://governance.example.com';
const DELIVERING = {
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  RATE_LIMIT: '1000000',
  PUBLIC_URL,
  MAIL_ZONE: 'Europe/Berlin',
};
const ACTIONS = ['decision.proposed', 'decision.approved', 'decision.rejected'];
const HOSTILE =
  '<!channel> <@U1> <https://evil.example|Approve> *bold* [here](https://evil.example) {{DATE(2026-11-24T00:00:00Z)}} &amp; \u202etxet';

describe('Messages of webhooks', () => {
  let app: TestApp;
  let people: Company;
  const endpoints: WebhookEndpoint[] = [];

  beforeAll(async () => {
    app = await createTestApp({ environment: DELIVERING });
    people = await company(app);
    await requireApproval(app, { riskLevel: 'high' });
  });
  afterEach(async () => {
    const { data } = (await send(app, 'GET', WEBHOOKS)).body;
    for (const { id } of data as Parsed[]) await send(app, 'DELETE', `${WEBHOOKS}/${id}`);
    await Promise.all(endpoints.splice(0).map((endpoint) => endpoint.close()));
  });
  afterAll(async () => {
    await chainIsValid(app);
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true });
    await app.close();
  });

  function create(body: object): Promise<Answer> {
    return send(app, 'POST', WEBHOOKS, { body: { actions: ACTIONS, url: 'https://chat.example/T1/secret', ...body } });
  }

  async function listening(body: object): Promise<{ endpoint: WebhookEndpoint; webhook: Parsed }> {
    const endpoint = await WebhookEndpoint.start();
    endpoints.push(endpoint);
    const created = await create({ url: endpoint.url, ...body });
    expect([created.status, created.body]).toEqual([201, expect.anything()]);
    return { endpoint, webhook: created.body };
  }

  /** Returns the messages of a format that arrive about an action. */
  async function delivered(
    format: 'slack' | 'teams' | 'ocsf',
    body: object,
    act: () => Promise<unknown>,
    count = 1,
  ): Promise<Parsed[]> {
    const { endpoint } = await listening({ format, ...body });
    await act();
    await endpoint.until(count);
    const bodies = endpoint.received.map((received) => received.body);
    expect(bodies.flatMap((each) => schemaFaults(format, each))).toEqual([]);
    return bodies;
  }

  it('do not show the URL of a chat, but in the answer that creates it', async () => {
    const url = 'https://hooks.slack.com/services/T1/B1/secret';
    for (const format of ['slack', 'teams']) {
      const created = await create({ url, format });
      expect([created.status, created.body.url, created.body.format]).toEqual([201, url, format]);
      const path = `${WEBHOOKS}/${created.body.id}`;
      const origin = 'https://hooks.slack.com';
      const changed = await send(app, 'PATCH', path, { body: { description: 'x', url: `${url}2` } });
      for (const answer of [await send(app, 'GET', path), changed, await send(app, 'POST', `${path}/resume`)])
        expect([answer.status, answer.body.url]).toEqual([200, origin]);
      expect((await send(app, 'POST', `${path}/rotate-secret`)).body.url).toBe(origin);
      expect((await send(app, 'GET', WEBHOOKS)).text).not.toContain('services');
      const entries = await auditOf(app, created.body.id);
      expect(entries.map(({ details }) => details)).toContainEqual({ fields: ['url', 'description'] });
      for (const { sequence } of entries) {
        const sealed = await send(app, 'GET', `/api/v1/provenance/${sequence}`);
        expect(sealed.body.state).toMatchObject({ url: origin, format });
        expect(sealed.text).not.toContain('services');
      }
    }
    const plain = await create({ url, format: 'ocsf' });
    expect((await send(app, 'GET', `${WEBHOOKS}/${plain.body.id}`)).body.url).toBe(url);
  });

  it('are about decisions only, each action named', async () => {
    for (const format of ['slack', 'teams']) {
      for (const actions of [['*'], ['decision.*'], ['execution.denied'], [...ACTIONS, 'agent.created']])
        expect(Object.keys(faults(await create({ format, actions })))).toEqual(['actions']);
      const { id } = (await create({ format })).body;
      const changed = await send(app, 'PATCH', `${WEBHOOKS}/${id}`, { body: { actions: ['*'] } });
      expect(Object.keys(faults(changed))).toEqual(['actions']);
    }
    expect((await create({ format: 'ocsf', actions: ['*'] })).status).toBe(201);
    for (const format of ['event', 'ocsf', undefined])
      expect(Object.keys(faults(await create({ format, detail: 'reference' })))).toEqual(['detail']);
    expect(Object.keys(faults(await create({ format: 'mail' })))).toEqual(['format']);
    const { id } = (await create({})).body;
    const body = { description: 'x', format: 'slack' };
    expect(Object.keys(faults(await send(app, 'PATCH', `${WEBHOOKS}/${id}`, { body })))).toEqual(['format']);
  });

  it.each(['slack', 'teams'] as const)('tell %s who asks for what, and what came of it', async (format) => {
    let id = '';
    const bodies = await delivered(
      format,
      {},
      async () => {
        const request = await pending(app, people.bot, { resourceId: `${format}/1`, parameters: { amount: 80 } });
        id = String(request.decisionId);
        await approve(app, id, people.ann);
        const other = await pending(app, people.bot, { resourceId: `${format}/2` });
        await reject(app, other.decisionId, people.ben, 'no');
      },
      4,
    );
    const [proposed = '', approved = '', , rejected = ''] = bodies.map((body) => JSON.stringify(body));
    for (const text of ['bot', 'refund', `payment/${format}/1`, 'high', '\\"amount\\": 80', '1 of role:finance'])
      expect(proposed).toContain(text);
    expect(proposed).toContain(`${PUBLIC_URL}/console/decisions/${id}`);
    expect(proposed).not.toContain('cut');
    expect(approved).toContain('A decision was approved');
    expect(approved).toContain('ann');
    expect(rejected).toContain('A decision was rejected');
    expect(rejected).toContain('ben');
  });

  it.each(['slack', 'teams'] as const)('say to %s until when, in words', async (format) => {
    const [body] = await delivered(format, {}, async () => {
      await propose(app, people.bot.id, { expiresAt: '2030-07-01T14:30:00.000Z' });
    });
    const words = 'Monday, 1 July 2030, 16:30 in Berlin (14:30 UTC)';
    expect(JSON.stringify(body)).toContain(words);
    expect(JSON.stringify(body)).not.toContain('2030-07-01T');
  });

  it.each(['slack', 'teams'] as const)(
    'tell %s no more than a reference, if the webhook sets that detail',
    async (format) => {
      const [body] = await delivered(format, { detail: 'reference' }, async () => {
        await pending(app, people.bot, { resourceId: `${format}/mine`, parameters: { iban: 'DE02' }, run: 'case-7' });
      });
      const text = JSON.stringify(body);
      expect(
        ['bot', 'refund', 'high', 'Until', `${PUBLIC_URL}/console/decisions/dec_`].filter(
          (each) => !text.includes(each),
        ),
      ).toEqual([]);
      expect(['DE02', 'mine', 'case-7', 'iban'].filter((each) => text.includes(each))).toEqual([]);
    },
  );

  it('take the texts of records for nothing but text', async () => {
    const act = async (): Promise<unknown> =>
      propose(app, people.bot.id, {
        title: HOSTILE.slice(0, 150),
        description: HOSTILE,
        context: { [HOSTILE]: HOSTILE },
      });
    const [slack = {}] = await delivered('slack', {}, act);
    const texts = (slack.blocks as Parsed[]).flatMap((block) => [block.text, ...((block.fields ?? []) as Parsed[])]);
    const [ours] = texts.filter((each) => each?.type === 'mrkdwn');
    expect(ours?.text).toMatch(
      /^<https:\/\/governance\.example\.com\/console\/decisions\/dec_\w+\|Open it in the console>$/,
    );
    const text = JSON.stringify({ ...slack, blocks: (slack.blocks as Parsed[]).slice(0, -1) });
    expect(text).not.toMatch(/[<>\u202e]|:"mrkdwn"|"emoji":true/);
    expect(text).toContain('&lt;!channel&gt; &lt;@U1&gt;');
    expect(text).toContain('&amp;amp; \\\\u202e');
    const [teams = {}] = await delivered('teams', {}, act);
    const { body }: Parsed = teams.attachments[0].content;
    const marked = (body as Parsed[]).filter(({ type }) => type === 'TextBlock').map((block) => String(block.text));
    expect(marked).toEqual(['A decision is needed', expect.stringContaining('cannot be seen')]);
    expect(JSON.stringify(body)).not.toMatch(/\{\{DATE|\u202e/);
  });

  it.each(['slack', 'teams'] as const)('say to %s that parameters are cut', async (format) => {
    const many = new Array<number>(1_000).fill(0);
    for (const parameters of [{ text: '&'.repeat(100_000) }, { text: '😀'.repeat(50_000) }, { many }]) {
      const [body] = await delivered(format, {}, async () => {
        await pending(app, people.bot, { resourceId: `cut/${format}`, parameters });
      });
      const text = JSON.stringify(body);
      expect(text).toContain('Read all of it before you decide');
      expect(text.length).toBeLessThan(12_000);
      expect(text).not.toMatch(/\\ud83d|&amp[^;]/);
    }
    const [short] = await delivered(format, {}, () =>
      propose(app, people.bot.id, { title: 't'.repeat(500), context: {} }),
    );
    expect(JSON.stringify(short)).toContain('Read all of it before you decide');
  });

  it('tell of refused proposals and reviews', async () => {
    const actions = ['decision.proposal_denied', 'decision.approval_denied'];
    const agent = await createAgent(app, { name: 'idle' });
    await send(app, 'POST', `/api/v1/agents/${agent.id}/suspend`);
    const [refused, review] = await delivered(
      'teams',
      { actions },
      async () => {
        const body = { type: 'deploy', title: 'x', proposedBy: agent.id, riskLevel: 'low' };
        expect((await send(app, 'POST', '/api/v1/decisions', { body })).status).toBe(403);
        const request = await pending(app, people.bot, { resourceId: 'refused/1' });
        expect((await approve(app, request.decisionId, people.eve)).status).toBe(403);
      },
      2,
    );
    expect(JSON.stringify(refused)).toMatch(/idle.*agent_suspended/);
    expect(JSON.stringify(review)).toMatch(/eve.*not_an_approver/);
  });

  it('are events for SIEMs, one for each entry', async () => {
    const bodies = await delivered(
      'ocsf',
      { actions: ['*'] },
      async () => {
        await createAgent(app, { name: 'seen' });
        await send(app, 'POST', '/api/v1/agents/seen/execute', {
          body: { action: 'a', resourceType: 'b', resourceId: 'c' },
        });
        const request = await pending(app, people.bot, { resourceId: 'siem/1' });
        await approve(app, request.decisionId, people.ann);
      },
      6,
    );
    expect(bodies.map(({ api, type_uid, status_id }) => [api.operation, type_uid, status_id])).toEqual([
      ['agent.created', 600_301, 1],
      ['execution.denied', 600_399, 2],
      ['decision.proposed', 600_301, 1],
      ['execution.approval_requested', 600_399, 1],
      ['decision.approved', 600_303, 1],
      ['execution.approved', 600_303, 1],
    ]);
    expect(bodies[1]).toMatchObject({ severity_id: 3, actor: { user: { uid: 'env', type: 'api_key' } } });
  });

  it.each(['event', 'ocsf'] as const)('hold, as %s, all that a checkpoint is computed from', async (format) => {
    const { endpoint, webhook } = await listening({ format, actions: ['*'] });
    await send(app, 'POST', `${WEBHOOKS}/${webhook.id}/replay`, { body: { after: 0 } });
    const { body: checkpoint } = await send(app, 'GET', '/api/v1/provenance/checkpoint');
    await endpoint.until(Number(checkpoint.size));
    const hashes = endpoint.received.map(({ body }) => (format === 'event' ? body.data : body.unmapped));
    expect(merkleRoot(hashes.map(({ hash }) => Buffer.from(String(hash), 'hex'))).toString('hex')).toBe(
      checkpoint.rootHash,
    );
    const { body: entry } = await send(app, 'GET', '/api/v1/provenance/2');
    const { auditHash, hash, previousHash } = entry;
    expect(hashes[1]).toMatchObject({ auditHash, hash, previousHash });
  });

  it('are tried in their format', async () => {
    for (const format of ['slack', 'teams', 'ocsf'] as const) {
      const { endpoint, webhook } = await listening({ format });
      const tried = await send(app, 'POST', `${WEBHOOKS}/${webhook.id}/test`);
      expect(tried.body).toMatchObject({ status: 204 });
      expect(schemaFaults(format, endpoint.received[0]?.body)).toEqual([]);
    }
  });

  it('have no link while the URL of the service is unknown, and their test says why', async () => {
    const other = await createTestApp({ environment: { ...DELIVERING, PUBLIC_URL: '' } });
    const endpoint = await WebhookEndpoint.start();
    endpoints.push(endpoint);
    const body = { url: endpoint.url, actions: ACTIONS, format: 'slack' };
    const created = await send(other, 'POST', WEBHOOKS, { body });
    expect(created.status).toBe(201);
    const bot = await createAgent(other, { name: 'bot' });
    await propose(other, bot.id);
    await endpoint.until(1);
    expect(schemaFaults('slack', endpoint.received[0]?.body)).toEqual([]);
    expect(endpoint.received[0]?.text).not.toContain(':"mrkdwn"');
    await send(other, 'POST', `${WEBHOOKS}/${created.body.id}/test`);
    expect(endpoint.received[1]?.text).toContain('the service does not know its PUBLIC_URL');
    await other.close();
  });
});

/** The root of RFC 6962, section 2.1, over leaves of at least one, as somebody who keeps the messages computes it. */
function merkleRoot(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (leaves.length === 1 && only !== undefined) return sha256(Buffer.of(0), only);
  let left = 1;
  while (left * 2 < leaves.length) left *= 2;
  return sha256(Buffer.of(1), merkleRoot(leaves.slice(0, left)), merkleRoot(leaves.slice(left)));
}

function sha256(...parts: readonly Buffer[]): Buffer {
  return createHash('sha256').update(Buffer.concat(parts)).digest();
}
