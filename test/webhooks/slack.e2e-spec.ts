import { createHmac } from 'node:crypto';
import { conflict, unavailable } from '../../src/core/errors/domain-error';
import { SlackReplies, SlackService } from '../../src/evidence/slack/slack.service';
import { DecisionReviewsService } from '../../src/governance/decisions/decision-reviews.service';
import { approve, company, type Company, DECISIONS, pending, requireApproval } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, propose } from '../support/application/factories';
import { type Answer, faults, type Parsed, send, sendRaw } from '../support/application/send';
import { type Delivery, WebhookEndpoint } from '../support/application/webhook-endpoint';
import { temporaryDatabase } from '../support/database/temporary-database';
import { schemaFaults } from './published-schemas';

const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const PLACE = '/api/v1/integrations/slack';
const WEBHOOKS = '/api/v1/webhooks';
const REPLY_TO = 'https://hooks.slack.com/actions/T1/1/secret';
const ENVIRONMENT = {
  ...{ WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true', RATE_LIMIT: '1000000' },
  ...{ PUBLIC_URL: 'https://governance.example.com', SLACK_SIGNING_SECRET: SECRET },
};

interface SignatureOptions {
  readonly at?: number;
  readonly secret?: string;
  readonly version?: string;
  readonly to?: TestApp;
}

describe('Slack', () => {
  let app: TestApp;
  let people: Company;
  let endpoint: WebhookEndpoint;
  /** The messages that Slack received, each with its URL. */
  const sentReplies: { readonly url: string; readonly replies: readonly Parsed[] }[] = [];
  const listeners = new Set<() => void>();

  beforeAll(async () => {
    app = await createTestApp({ environment: ENVIRONMENT });
    people = await company(app);
    await requireApproval(app, { riskLevel: 'high' });
    for (const [name, slackId] of Object.entries({ ann: 'T1/ANN', ben: 'T1/BEN', eve: 'T1/EVE' }))
      expect((await isInSlack(name, slackId)).body.slackId).toBe(slackId);
    // The network ends here: no server answers for Slack.
    jest.spyOn(app.application.get(SlackReplies), 'send').mockImplementation(async (url, replies) => {
      sentReplies.push({ url, replies });
      listeners.forEach((listener) => listener());
    });
    endpoint = await WebhookEndpoint.start();
    const body = { url: endpoint.url, actions: ['decision.proposed'], format: 'slack', buttons: true };
    expect((await send(app, 'POST', WEBHOOKS, { body })).body.buttons).toBe(true);
  });
  beforeEach(() => void sentReplies.splice(0));
  afterAll(async () => {
    await chainIsValid(app);
    const { body } = await send(app, 'POST', '/api/v1/provenance/verify', { body: { state: true } });
    expect(body).toMatchObject({ valid: true });
    await app.close();
    await endpoint.close();
  });

  function isInSlack(name: string, slackId: string | null): Promise<Answer> {
    return send(app, 'PATCH', `/api/v1/agents/${name}`, { body: { slackId } });
  }

  /** Sends a body as Slack does; returns the status. */
  async function post(
    body: string,
    { at = Date.now(), secret = SECRET, version = 'v0', to = app }: SignatureOptions = {},
  ): Promise<number> {
    const timestamp = String(Math.floor(at / 1000));
    const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
    const answer = await fetch(`${to.url}${PLACE}`, {
      ...{ method: 'POST', body },
      headers: {
        'Content-Type': 'application/x-www-form-urlencoded',
        ...{ 'X-Slack-Request-Timestamp': timestamp, 'X-Slack-Signature': `${version}=${signature}` },
      },
    });
    await answer.text();
    return answer.status;
  }

  /** Resolves when Slack has received this many outcomes. */
  async function outcomes(count: number): Promise<void> {
    while (sentReplies.length < count) {
      await new Promise<void>((resolve) => {
        listeners.add(resolve);
      });
      listeners.clear();
    }
  }

  function formOf(payload: unknown): string {
    return new URLSearchParams({ payload: typeof payload === 'string' ? payload : JSON.stringify(payload) }).toString();
  }

  function clicked(user: string, action: string, decisionId: unknown, more: Parsed = {}): Parsed {
    return {
      type: 'block_actions',
      user: { id: user, team_id: 'T1' },
      team: { id: 'T1' },
      response_url: REPLY_TO,
      actions: [{ type: 'button', block_id: 'decision', action_id: action, value: decisionId }],
      ...more,
    };
  }

  async function click(user: string, action: string, decisionId: unknown, more: Parsed = {}): Promise<Parsed[]> {
    sentReplies.splice(0);
    expect(await post(formOf(clicked(user, action, decisionId, more)))).toBe(200);
    await outcomes(1);
    expect(sentReplies.map(({ url }) => url)).toEqual([REPLY_TO]);
    const replies = sentReplies.flatMap((each) => [...each.replies]);
    for (const { replace_original, response_type, ...message } of replies)
      expect([replace_original, response_type, schemaFaults('slack', message)]).toEqual(
        response_type === undefined ? [true, undefined, []] : [false, 'ephemeral', []],
      );
    return replies;
  }

  /** An input with this text, as Slack sends it. */
  function commented(value: string): Parsed {
    return { state: { values: { comment: { comment: { type: 'plain_text_input', value } } } } };
  }

  async function requestDecision(resourceId: string, parameters: object = { amount: 80 }): Promise<string> {
    return String((await pending(app, people.bot, { resourceId, parameters })).decisionId);
  }

  async function decision(id: string): Promise<Parsed> {
    return (await send(app, 'GET', `${DECISIONS}/${id}`)).body;
  }

  function buttonsOf(message: Parsed = {}): string[] {
    const blocks = (message.blocks ?? []) as Parsed[];
    const elements = blocks.flatMap((block) => (block.type === 'actions' ? (block.elements as Parsed[]) : []));
    return elements.map(({ action_id }) => String(action_id));
  }

  it('has messages whose buttons approve', async () => {
    const id = await requestDecision('slack/1');
    await endpoint.until(1);
    const message = endpoint.received.at(-1)?.body;
    expect(schemaFaults('slack', message)).toEqual([]);
    expect(buttonsOf(message)).toEqual(['approve', 'reject']);
    const [reply] = await click('ANN', 'approve', id);
    expect(JSON.stringify(reply)).toMatch(/A decision was approved.*Reviewed by: ann/);
    expect(buttonsOf(reply)).toEqual([]);
    expect(await decision(id)).toMatchObject({ status: 'approved', reviews: [{ approverId: people.ann.id }] });
    const entry = (await auditOf(app, id)).find(({ action }) => action === 'decision.approved');
    expect(entry).toMatchObject({ actor: { type: 'slack', id: 'T1/ANN' }, agentId: people.ann.id });
  });

  it('answers Slack before it decides, and decides before it stops', async () => {
    const database = await temporaryDatabase();
    const environment = { ...ENVIRONMENT, ...database.environment };
    const lines: string[] = [];
    const first = await createTestApp({ environment, logStream: { write: (line) => lines.push(line) } });
    const { bot } = await company(first);
    await send(first, 'PATCH', '/api/v1/agents/ann', { body: { slackId: 'T1/ANN' } });
    const { id } = await propose(first, bot.id, { title: 'Decided at the stop' });
    const reviews = first.application.get(DecisionReviewsService);
    const service = first.application.get(SlackService);
    const review = reviews.review.bind(reviews);
    const stop = service.onModuleDestroy.bind(service);
    const stopping = new Promise<void>((resolve) => {
      jest.spyOn(service, 'onModuleDestroy').mockImplementation(() => {
        resolve();
        return stop();
      });
    });
    jest.spyOn(reviews, 'review').mockImplementation(async (...args) => {
      await stopping;
      return review(...args);
    });
    const request = fetch;
    const replies = jest.spyOn(globalThis, 'fetch').mockImplementation((url, init) => {
      return url === REPLY_TO ? Promise.reject(new Error('Slack is away')) : request(url, init);
    });
    expect(await post(formOf(clicked('ANN', 'approve', id)), { to: first })).toBe(200);
    expect((await send(first, 'GET', `${DECISIONS}/${id}`)).body.status).toBe('proposed');
    await first.close();
    expect(replies.mock.calls.filter(([url]) => url === REPLY_TO)).toHaveLength(1);
    replies.mockRestore();
    expect(lines.join('')).toContain('was not sent to Slack: Slack is away');
    const second = await createTestApp({ environment });
    expect((await send(second, 'GET', `${DECISIONS}/${id}`)).body.status).toBe('approved');
    await second.close();
    await database.remove();
  });

  it('tells who clicks when the decision fails, and still answers', async () => {
    const id = await requestDecision('slack/9');
    const reviews = jest.spyOn(app.application.get(DecisionReviewsService), 'review');
    reviews.mockRejectedValueOnce(unavailable('The database cannot be reached now.'));
    const [reply] = await click('ANN', 'approve', id);
    expect(JSON.stringify(reply)).toContain('Click again');
    reviews.mockRestore();
    expect(JSON.stringify(await click('ANN', 'approve', id))).toContain('A decision was approved');
  });

  it('refuses clicks while too many are under way', async () => {
    const id = await requestDecision('slack/10');
    const held: (() => void)[] = [];
    const reviews = jest.spyOn(app.application.get(DecisionReviewsService), 'review');
    reviews.mockImplementation(() => new Promise((_resolve, reject) => held.push(() => reject(conflict('Held.')))));
    const body = formOf(clicked('ANN', 'approve', id));
    const statuses: number[] = [];
    for (let sent = 0; sent < 1_001; sent += 91)
      statuses.push(...(await Promise.all(Array.from({ length: 91 }, () => post(body)))));
    expect(statuses.filter((status) => status !== 200)).toEqual([503]);
    while (held.length < 1_000) await new Promise((resolve) => setImmediate(resolve));
    held.forEach((end) => end());
    await outcomes(1_000);
    reviews.mockRestore();
    expect(JSON.stringify(await click('ANN', 'approve', id))).toContain('A decision was approved');
  });

  it('asks for a comment before it rejects', async () => {
    const id = await requestDecision('slack/2');
    const [form = {}] = await click('BEN', 'reject', id);
    expect(buttonsOf(form)).toEqual(['approve', 'reject_with_comment']);
    expect((form.blocks as Parsed[]).some(({ type }) => type === 'input')).toBe(true);
    expect((await decision(id)).status).toBe('proposed');
    const [reply] = await click('BEN', 'reject_with_comment', id, commented(' Too <much> '));
    expect(JSON.stringify(reply)).toContain('A decision was rejected');
    expect((await decision(id)).reviews).toMatchObject([{ verdict: 'reject', comment: 'Too <much>' }]);
    const silent = await requestDecision('slack/3');
    await click('BEN', 'reject_with_comment', silent, { state: { values: {} } });
    expect((await decision(silent)).reviews).toMatchObject([{ verdict: 'reject', comment: null }]);
  });

  it('tells who clicks later that it is settled, and shows what came of it', async () => {
    const id = await requestDecision('slack/4');
    await approve(app, id, people.ben);
    for (const action of ['approve', 'reject', 'reject_with_comment']) {
      const [message, words] = await click('ANN', action, id);
      expect(buttonsOf(message)).toEqual([]);
      expect(JSON.stringify(message)).toContain('A decision was approved');
      expect(JSON.stringify(words)).toContain('approved already');
    }
    expect((await decision(id)).reviews).toHaveLength(1);
  });

  it('lets the first of two clicks at once decide', async () => {
    const id = await requestDecision('slack/5');
    const bodies = ['ANN', 'BEN', 'ANN'].map((user) => formOf(clicked(user, 'approve', id)));
    expect(await Promise.all(bodies.map((body) => post(body)))).toEqual([200, 200, 200]);
    await outcomes(3);
    expect((await decision(id)).reviews).toHaveLength(1);
    expect(sentReplies.map(({ replies }) => replies.length).sort()).toEqual([1, 2, 2]);
  });

  it('decides nothing for somebody who is not known, or may not', async () => {
    const id = await requestDecision('slack/6');
    const [stranger, ...others] = await click('EVIL', 'approve', id);
    expect(others).toEqual([]);
    expect(JSON.stringify(stranger)).toContain('Nobody here has the Slack id T1/EVIL');
    // The same user id in another team, which shares a channel, is somebody else.
    const [guest] = await click('ANN', 'approve', id, { user: { id: 'ANN', team_id: 'T2' } });
    expect(JSON.stringify(guest)).toContain('T2/ANN');
    const [refused] = await click('EVE', 'approve', id);
    expect(refused?.response_type).toBe('ephemeral');
    expect(JSON.stringify(refused)).toContain('not one of the approvers');
    await send(app, 'POST', '/api/v1/agents/ben/suspend');
    const [suspended] = await click('BEN', 'approve', id);
    expect(JSON.stringify(suspended)).toContain('is suspended');
    await send(app, 'POST', '/api/v1/agents/ben/resume');
    const denied = (await auditOf(app, id)).filter(({ action }) => action === 'decision.approval_denied');
    expect(denied.map(({ reason, actor }) => [reason, actor.id])).toEqual([
      ['not_an_approver', 'T1/EVE'],
      ['agent_suspended', 'T1/BEN'],
    ]);
    await isInSlack('ann', null);
    expect(JSON.stringify(await click('ANN', 'approve', id))).toContain('Nobody here has');
    await isInSlack('ann', 'T1/ANN');
    expect((await decision(id)).status).toBe('proposed');
    expect(JSON.stringify(await click('ANN', 'approve', 'dec_x'))).toContain('not found');
  });

  it('takes requests of these five minutes that it has signed', async () => {
    const id = await requestDecision('slack/7');
    const body = formOf(clicked('ANN', 'approve', id));
    expect(await post(body, { at: Date.now() - 3_600_000 })).toBe(401);
    expect(await post(body, { at: Date.now() - 310_000 })).toBe(401);
    expect(await post(body, { at: Date.now() + 310_000 })).toBe(401);
    expect(await post(body, { secret: 'another' })).toBe(401);
    expect(await post(body, { version: 'v1' })).toBe(401);
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const unsigned = await fetch(`${app.url}${PLACE}`, { method: 'POST', body, headers: form });
    expect(unsigned.status).toBe(401);
    // The operator's key takes the place of no signature.
    expect((await send(app, 'POST', PLACE, { body: {} })).status).toBe(415);
    for (const [encoding, status] of [
      ['gzip', 415],
      // Not compressed, and not signed.
      ['identity', 401],
    ] as const) {
      const headers = { ...form, 'Content-Encoding': encoding };
      expect((await send(app, 'POST', PLACE, { body: formOf('{}'), headers })).status).toBe(status);
    }
    expect((await send(app, 'POST', PLACE)).status).toBe(401);
    expect((await decision(id)).status).toBe('proposed');
    const before = Date.now() - 290_000;
    expect([await post(body, { at: before }), await post(body, { at: before })]).toEqual([200, 200]);
    await outcomes(2);
    expect((await decision(id)).reviews).toHaveLength(1);
  });

  it('refuses what is no interaction, and does nothing for one that is not ours', async () => {
    for (const body of ['', 'payload=', 'payload=%7B', 'x=1', formOf('[1')])
      expect([body, await post(body)]).toEqual([body, 400]);
    for (const payload of [{}, null, 7, [], clicked('ANN', 'other', 'x'), clicked('ANN', 'approve', { toString: 1 })])
      expect([payload, await post(formOf(payload))]).toEqual([payload, 200]);
    const long = commented('x'.repeat(2_001));
    expect(await post(formOf(clicked('ANN', 'reject_with_comment', 'x', long)))).toBe(400);
    expect(await post(formOf({ ...clicked('ANN', 'other', 'x'), filler: 'x'.repeat(900_000) }))).toBe(200);
    expect(await post(`payload=${'x'.repeat(1_048_576)}`)).toBe(413);
    const unsigned = `POST ${PLACE} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n${'x'.repeat(1_000_000)}`;
    expect(await sendRaw(app, unsigned)).toMatch(/^HTTP\/1.1 401 /);
    for (const text of ['\u0000', '\ud800'])
      for (const payload of [
        clicked('ANN', 'reject_with_comment', 'x', commented(text)),
        clicked('ANN', 'approve', text),
        clicked(text, 'approve', 'x'),
      ])
        expect([payload, await post(formOf(payload))]).toEqual([payload, 400]);
    expect(sentReplies).toEqual([]);
  });

  it('takes a comment of as many characters as a reviewer may write elsewhere', async () => {
    const id = await requestDecision('slack/8');
    const comment = '😀'.repeat(2_000);
    await click('ANN', 'reject_with_comment', id, commented(comment));
    expect((await decision(id)).reviews).toMatchObject([{ comment }]);
  });

  it('tells only Slack the outcome of a click', async () => {
    const urls = [
      endpoint.url,
      'https://hooks.slack.com.evil.example/x',
      'https://a@hooks.slack.com/x',
      'http://hooks.slack.com/x',
      'https://hooks.slack.com:8443/x',
      'x',
      7,
    ];
    for (const [index, url] of urls.entries()) {
      const id = await requestDecision(`elsewhere/${index}`);
      expect(await post(formOf(clicked('ANN', 'approve', id, { response_url: url })))).toBe(200);
      expect((await send(app, 'GET', `${DECISIONS}/${id}?wait=30`)).body.status).toBe('approved');
    }
    expect(sentReplies).toEqual([]);
  });

  it('has no buttons on a message that is cut', async () => {
    await requestDecision('cut/1', { text: 'x'.repeat(10_000) });
    const ofIt = (): Delivery | undefined => endpoint.received.find(({ text }) => text.includes('cut/1'));
    while (ofIt() === undefined) await endpoint.until(endpoint.sequences.length + 1);
    expect(buttonsOf(ofIt()?.body)).toEqual([]);
    expect(ofIt()?.text).toContain('Read all of it before you decide');
  });

  it.each([
    ...['\u3164', '\u115f', '\u034f', '\ufe0f', '\u2800', '\u3000', '\u00a0', '\u200b', '\u202e'],
    ...[' '.repeat(40), '\n\n\n'],
  ])('shows %j in a message, which has no buttons then', async (hidden) => {
    const text = `pay${hidden}once`;
    const { id } = await propose(app, people.bot.id, { title: 'What is hidden', description: text });
    const execution = hidden.includes('\n') ? null : await requestDecision('hidden/1', { text });
    const ofIt = (decisionId: string): Delivery | undefined =>
      endpoint.received.find((received) => received.text.includes(decisionId));
    for (const decisionId of [id, ...(execution === null ? [] : [execution])]) {
      while (ofIt(decisionId) === undefined) await endpoint.until(endpoint.sequences.length + 1);
      const { body, text: sent = '' } = ofIt(decisionId) ?? {};
      expect(buttonsOf(body)).toEqual([]);
      const escape = `\\u${(hidden.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
      expect(JSON.stringify(JSON.parse(sent))).toContain(JSON.stringify(escape).slice(1, -1));
      expect(sent).not.toContain(text);
      expect(sent).toContain('Decide in the console.');
    }
  });

  it('has no buttons where the name of the agent hides something', async () => {
    const { id: agentId } = await createAgent(app, { name: 'b\u3164ot' });
    const { id } = await propose(app, agentId, { title: 'By whom?' });
    const ofIt = (): Delivery | undefined => endpoint.received.find(({ text }) => text.includes(id));
    while (ofIt() === undefined) await endpoint.until(endpoint.sequences.length + 1);
    expect(buttonsOf(ofIt()?.body)).toEqual([]);
    expect(JSON.stringify(ofIt()?.body)).toContain('b\\\\u3164ot');
  });

  it('knows a person by one id, which no other agent has', async () => {
    expect((await isInSlack('ben', 'T1/ANN')).status).toBe(409);
    for (const slackId of ['T1', 'T1/', '/U1', 't1/u1', 'T1/U1/X', 'T1/<U1>', `T1/${'U'.repeat(100)}`])
      expect([slackId, Object.keys(faults(await isInSlack('ben', slackId)))]).toEqual([slackId, ['slackId']]);
    expect(faults(await isInSlack('bot', 'T1/BOT'))).toEqual({ slackId: 'must be left out: only people are in Slack' });
    expect((await isInSlack('ben', 'T1/BEN')).body.revision).toBe((await isInSlack('ben', 'T1/BEN')).body.revision);
  });

  it('has buttons only in its own format, with all details and a signing secret', async () => {
    const create = (body: object, at = app): Promise<Answer> =>
      send(at, 'POST', WEBHOOKS, {
        body: { url: endpoint.url, actions: ['decision.proposed'], buttons: true, ...body },
      });
    for (const body of [{ format: 'teams' }, { format: 'slack', detail: 'reference' }, {}])
      expect(Object.keys(faults(await create(body)))).toEqual(['buttons']);
    const other = await createTestApp({ environment: { ...ENVIRONMENT, SLACK_SIGNING_SECRET: '' } });
    expect(Object.keys(faults(await create({ format: 'slack' }, other)))).toEqual(['buttons']);
    expect((await send(other, 'POST', PLACE)).status).toBe(401);
    await other.close();
  });
});
