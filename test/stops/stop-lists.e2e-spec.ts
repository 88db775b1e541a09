import { setTimeout as sleep } from 'node:timers/promises';
import { Gates } from '../../src/http/gates';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { issueKey } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';
import { type Company, createCompany, execute, lift, liftAll, stop, STOPS } from './support';

describe('The list of stops', () => {
  let app: TestApp;
  let company: Company;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    company = await createCompany(app);
  });
  afterEach(() => liftAll(app));
  afterAll(() => app.close());

  const listed = async (query: string, key?: string): Promise<string[]> => {
    const { body } = await send(app, 'GET', `${STOPS}?${query}`, key === undefined ? {} : { key });
    expect(body.total).toBe(body.data.length);
    return body.data.map(({ id }: { id: string }) => id);
  };

  it('is in order of time, newest first, and by status', async () => {
    const [first, second] = [await stop(app, { role: 'worker' }), await stop(app, { role: 'clerk' })];
    expect((await listed('limit=1000')).slice(0, 2)).toEqual([second.id, first.id]);
    await lift(app, first);
    expect(await listed('status=active')).toEqual([second.id]);
    expect((await listed('status=lifted&limit=1000')).includes(first.id)).toBe(true);
    expect((await send(app, 'GET', `${STOPS}?status=over`)).status).toBe(400);
  });

  it('shows each to whom it may concern, and to all who read or review', async () => {
    const reader = (await issueKey(app, { scopes: ['read'], agentId: company.bot.id })).secret;
    const unbound = (await issueKey(app, { scopes: ['entities'] })).secret;
    const all = await stop(app);
    const ofBot = await stop(app, { agentId: 'bot' });
    const ofOther = await stop(app, { agentId: 'other' });
    const ofWorkers = await stop(app, { role: 'worker', actions: ['x'] });
    const ofClerks = await stop(app, { role: 'clerk' });
    const everyone = [ofClerks, ofWorkers, ofOther, ofBot, all].map(({ id }) => id);
    for (const key of [undefined, company.ann.key, company.other.key, reader, unbound])
      expect(await listed('status=active', key)).toEqual(everyone);
    expect(await listed('status=active', company.bot.key)).toEqual([ofWorkers.id, ofBot.id, all.id]);
    const read = async ({ id }: { id: string }): Promise<number> =>
      (await send(app, 'GET', `${STOPS}/${id}`, { key: company.bot.key })).status;
    expect([await read(all), await read(ofBot), await read(ofOther), await read(ofClerks)]).toEqual([
      200, 200, 404, 404,
    ]);
    const page = await send(app, 'GET', `${STOPS}?status=active&limit=1`);
    const next = `${STOPS}?limit=1&cursor=${page.body.nextCursor as string}`;
    expect((await send(app, 'GET', next, { key: company.bot.key })).body.total).toBe(3);
    expect((await send(app, 'GET', next)).body.total).toBe(5);
  });

  it('is waited for with a copy of the list', async () => {
    const getStops = (wait: string, tag: string): Promise<Answer> =>
      send(app, 'GET', `${STOPS}?status=active${wait}`, { headers: { 'If-None-Match': tag } });
    const empty = await send(app, 'GET', `${STOPS}?status=active`);
    const tag = String(empty.headers.get('etag'));
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(await getStops('', tag)).toMatchObject({ status: 304, text: '' });
    expect((await getStops('&wait=1', tag)).status).toBe(304);
    expect((await getStops('&wait=60', '"other"')).status).toBe(200);
    expect((await send(app, 'GET', `${STOPS}?wait=60`)).status).toBe(200);
    expect((await getStops('&wait=61', tag)).status).toBe(400);
    const waiting = getStops('&wait=60', tag);
    // Other writes do not answer the wait.
    await execute(app);
    const made = await stop(app);
    const changed = await waiting;
    expect(changed).toMatchObject({ status: 200, body: { data: [{ id: made.id }], total: 1 } });
    expect(changed.headers.get('etag')).not.toBe(tag);
    const lifting = getStops('&wait=60', String(changed.headers.get('etag')));
    await lift(app, made);
    expect((await lifting).headers.get('etag')).toBe(tag);
  });

  it('holds up no other list while it is waited for', async () => {
    const empty = await send(app, 'GET', `${STOPS}?status=active`);
    const headers = { 'If-None-Match': String(empty.headers.get('etag')) };
    let answerCount = 0;
    const waiting = Array.from({ length: 5 }, async () => {
      const { status } = await send(app, 'GET', `${STOPS}?status=active&wait=60`, { headers });
      answerCount += 1;
      return status;
    });
    const waits = app.application.get(Gates).get('waits');
    while (waits.held < waiting.length) await sleep(20);
    for (const list of ['agents', 'stops', 'audit']) await send(app, 'GET', `/api/v1/${list}`);
    expect(answerCount).toBe(0);
    await stop(app);
    expect(await Promise.all(waiting)).toEqual([200, 200, 200, 200, 200]);
  });
});
