import { connect } from 'node:net';
import { once } from 'node:events';
import { shutDown } from '../../src/http/server/shutdown';
import { API_KEY } from '../support/application/api-key';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { EventReader, EVENTS } from '../support/application/event-reader';
import { createAgent, createEntity, issueKey } from '../support/application/factories';
import { faults, send } from '../support/application/send';

describe('Events', () => {
  let app: TestApp;
  const readers: EventReader[] = [];

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    for (let made = 0; made < 300; made += 100) {
      await Promise.all(Array.from({ length: 100 }, () => createEntity(app)));
    }
  });
  afterEach(() => {
    readers.splice(0).forEach((reader) => reader.close());
  });
  afterAll(() => app.close());

  async function open(query = '', headers: Readonly<Record<string, string>> = {}): Promise<EventReader> {
    const reader = await EventReader.open(app, query, headers);
    readers.push(reader);
    return reader;
  }

  async function head(): Promise<number> {
    return (await send(app, 'GET', '/api/v1/stats')).body.provenanceEntries;
  }

  it('are sent for each audit entry, as the audit shows it', async () => {
    const before = await head();
    const reader = await open();
    expect(reader.answer.statusCode).toBe(200);
    expect(reader.answer.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'private, no-cache',
      'x-head-sequence': String(before),
    });
    const agent = await createAgent(app, { name: 'observed' });
    await send(app, 'POST', `/api/v1/agents/${agent.id}/suspend`, { body: { reason: 'é\u2028\n😀' } });
    await reader.until(2);
    const { data } = (await send(app, 'GET', `/api/v1/audit?subjectId=${agent.id}&order=asc`)).body;
    expect(reader.events).toEqual([
      { id: before + 1, event: 'agent.created', data: data[0], at: expect.any(Number) },
      { id: before + 2, event: 'agent.suspended', data: data[1], at: expect.any(Number) },
    ]);
  });

  it('begin after a given sequence, or after the last one that a client has seen', async () => {
    const last = await head();
    const all = await open('?after=0');
    await all.until(last);
    expect(all.ids).toEqual(Array.from({ length: last }, (_, index) => index + 1));
    // The header takes precedence over `after`.
    const again = await open('?after=0', { 'Last-Event-ID': '290' });
    await again.until(last - 290);
    await createEntity(app);
    await Promise.all([all.until(last + 1), again.until(last - 289)]);
    expect(again.ids).toEqual(Array.from({ length: last - 289 }, (_, index) => index + 291));
    expect(all.ids.at(-1)).toBe(last + 1);
  });

  it('are filtered by action, agent, entity and record', async () => {
    const agent = await createAgent(app, { name: 'chosen' });
    const entity = await createEntity(app);
    await send(app, 'POST', `/api/v1/entities/${entity.id}/claims`, { body: { predicate: 'is', value: 1 } });
    await send(app, 'POST', `/api/v1/agents/${agent.id}/suspend`);
    const last = await head();
    const expected: Readonly<Record<string, string[]>> = {
      'agentId=chosen': ['agent.created', 'agent.suspended'],
      [`entityId=${entity.id}`]: ['entity.created', 'claim.added'],
      [`subjectId=${entity.id}`]: ['entity.created'],
      'action=agent.*': ['agent.created', 'agent.suspended'],
      'action=agent.suspended': ['agent.suspended'],
      'action=agent.suspended&action=claim.*': ['claim.added', 'agent.suspended'],
      'agentId=chosen&action=claim.*&action=agent.*': ['agent.created', 'agent.suspended'],
    };
    for (const [query, actions] of Object.entries(expected)) {
      const reader = await open(`?after=${last - 4}&${query}`);
      await reader.until(actions.length);
      expect([query, reader.events.map(({ event }) => event)]).toEqual([query, actions]);
      reader.close();
    }
    // New entries are filtered as well.
    const reader = await open('?action=entity.deleted&action=agent.*');
    await createEntity(app);
    await send(app, 'DELETE', `/api/v1/entities/${entity.id}`);
    await send(app, 'POST', `/api/v1/agents/${agent.id}/resume`);
    await reader.until(2);
    expect(reader.events.map(({ event }) => event)).toEqual(['entity.deleted', 'agent.resumed']);
  });

  it('of an agent by its name begin with its creation, after any other creation', async () => {
    const streams = [await open('?agentId=awaited'), await open('?agentId=awaited&after=0&action=agent.*')];
    await createEntity(app);
    await createAgent(app, { name: 'somebody else' });
    await createAgent(app, { name: 'awaited' });
    await send(app, 'POST', '/api/v1/agents/somebody%20else/suspend');
    await send(app, 'POST', '/api/v1/agents/awaited/suspend');
    for (const stream of streams) {
      await stream.until(2);
      expect(stream.events.map(({ event }) => event)).toEqual(['agent.created', 'agent.suspended']);
    }
  });

  it('are refused if the start lies beyond the last one, or is malformed', async () => {
    const beyond = (await head()) + 1;
    const refused = (query: string, id?: string) =>
      send(app, 'GET', `${EVENTS}${query}`, id === undefined ? {} : { headers: { 'Last-Event-ID': id } });
    expect(faults(await refused(`?after=${beyond}`))).toEqual({ 'query.after': expect.stringContaining('beyond') });
    expect(faults(await refused('', String(beyond)))).toEqual({
      'header.Last-Event-ID': expect.stringContaining('beyond'),
    });
    const bad = await refused('?after=-1&action=*&agentId=a&agentId=b&limit=1', 'x');
    expect(Object.keys(faults(bad)).sort()).toEqual([
      'header.Last-Event-ID',
      'query.action[0]',
      'query.after',
      'query.agentId',
      'query.limit',
    ]);
    for (const action of ['*', '.*', 'a*', '*.created', 'a.*.b', 'a.**', '']) {
      expect((await refused(`?action=${action}`)).status).toBe(400);
    }
    const many = Array.from({ length: 51 }, (_, index) => `action=a${index}`).join('&');
    expect(faults(await refused(`?${many}`))).toEqual({ 'query.action': expect.any(String) });
  });

  it('answer HEAD with the headers only', async () => {
    const { status, text, headers } = await send(app, 'HEAD', EVENTS);
    expect([status, text, headers.get('content-type')]).toEqual([200, '', 'text/event-stream']);
  });

  it('end when the key is revoked, expires, or its agent is suspended', async () => {
    const revoked = await issueKey(app, { scopes: ['audit'] });
    const expiring = await issueKey(app, {
      scopes: ['audit'],
      expiresAt: new Date(Date.now() + 3_000).toISOString(),
    });
    const agent = await createAgent(app, { name: 'reader' });
    const bound = await issueKey(app, { scopes: ['audit'], agentId: agent.id });
    const streams = await Promise.all(
      [revoked, expiring, bound].map(({ secret }) => open('', { 'X-API-Key': secret })),
    );
    const other = await open();
    await send(app, 'POST', `/api/v1/api-keys/${revoked.id}/revoke`);
    await send(app, 'POST', `/api/v1/agents/${agent.id}/suspend`);
    await Promise.all(streams.map((stream) => stream.untilOver()));
    expect(other.isOver).toBe(false);
  });

  it('are read by 20 streams of a caller at most, and by a limited number of all callers', async () => {
    const bounded = await createTestApp({
      environment: { MAX_EVENT_STREAMS: '22', MAX_CONNECTIONS_PER_ADDRESS: '100' },
    });
    const keys = await Promise.all([1, 2, 3].map(() => issueKey(bounded, { scopes: ['audit'] })));
    const opened = async (index: number): Promise<EventReader> => {
      const reader = await EventReader.open(bounded, '', { 'X-API-Key': keys[index]?.secret ?? '' });
      readers.push(reader);
      return reader;
    };
    const first = await Promise.all(Array.from({ length: 20 }, () => opened(0)));
    expect(first.map(({ answer }) => answer.statusCode)).toEqual(Array.from({ length: 20 }, () => 200));
    const refused = await opened(0);
    expect([refused.answer.statusCode, refused.answer.headers['retry-after']]).toEqual([503, '5']);
    expect((await opened(1)).answer.statusCode).toBe(200);
    expect((await opened(2)).answer.statusCode).toBe(200);
    expect((await opened(1)).answer.statusCode).toBe(503);
    first[0]?.close();
    // Its place is free once the service has noticed that it left.
    for (let status; status !== 200;) status = (await opened(0)).answer.statusCode;
    await bounded.close();
  });

  it('wait for a client that reads history slowly, and drop one that does not read new entries', async () => {
    const { hostname, port } = new URL(app.url);
    const stalled = connect(Number(port), hostname);
    const firstData = once(stalled, 'data');
    stalled.write(`GET ${EVENTS} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`);
    await firstData;
    stalled.pause();
    const before = await head();
    const agents = await Promise.all(Array.from({ length: 50 }, (_, index) => createAgent(app, { name: `a${index}` })));
    for (const verb of Array.from({ length: 10 }, () => ['suspend', 'resume']).flat()) {
      const body = { reason: '\u{1f600}'.repeat(2_000) };
      await Promise.all(agents.map(({ id }) => send(app, 'POST', `/api/v1/agents/${id}/${verb}`, { body })));
    }
    const reader = await open(`?after=${before}`);
    await reader.until(10);
    reader.answer.pause();
    await createEntity(app);
    reader.answer.resume();
    await reader.until(50 + 1_000 + 1);
    expect(reader.ids).toEqual(Array.from({ length: 1_051 }, (_, index) => before + index + 1));
    let bytes = 0;
    stalled.on('data', (chunk) => (bytes += chunk.length));
    const closed = once(stalled, 'close');
    stalled.resume();
    await closed;
    // Only bytes arrive that the operating system had buffered before the connection was closed.
    expect(bytes).toBeLessThan(8_000_000);
  });

  it('are silent for 15 seconds at most', async () => {
    const reader = await open();
    const now = performance.now.bind(performance);
    const later = jest.spyOn(performance, 'now').mockImplementation(() => now() + 15_000);
    await reader.untilTrue(() => reader.comments > 0);
    later.mockRestore();
    expect(reader.events).toEqual([]);
  });

  it('end when the service stops', async () => {
    const stopping = await createTestApp();
    const reader = await EventReader.open(stopping);
    const stopped = shutDown(stopping.application);
    await reader.untilOver();
    await stopped;
    expect(reader.answer.complete).toBe(true);
  });
});
