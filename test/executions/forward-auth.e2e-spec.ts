import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { faults, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { exchange, type WireAnswer } from '../support/application/wire';

const HOST = 'https://api.example.com';
const NGINX = { 'X-Original-Method': 'GET', 'X-Original-URL': `${HOST}/v1/users` };
const TRAEFIK = {
  'X-Forwarded-Method': 'GET',
  'X-Forwarded-Proto': 'https',
  'X-Forwarded-Host': 'api.example.com',
  'X-Forwarded-Uri': '/v1/users',
};

/** Targets that a server could take for others than a policy does. */
const OTHER_PATHS = [
  ...['//v1/a', '/v1//a', '/v1/a//', '/v1/../secret', '/v1/..', '/v1/.', '/./v1/a', '/v1/a/..;/b', '/v1/a;b', '/v1\\a'],
  ...['/v1/%2e%2e/secret', '/v1/%2E', '/v1/%252e%252e/secret', '/v1%2fsecret', '/v1/%73ecret/a', '/v1/a%5Cb', '/v1/a#b'],
  ...['/v1/a%00', '/v1/a%0d%0a', '/v1/%C0%AF', '/v1/%u002e', '/v1/a%3Fb', '/v1/a%23b', '/v1/ a', '/v1/a%20', '/v1/caf\u00e9'],
  ...['/v1/a?caf\u00e9', '/v1/%EF%BC%8E%EF%BC%8E/a', `/v1/${'a'.repeat(500)}`, `/${'a/'.repeat(64)}`],
]; // prettier-ignore

type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Sends a question as it is, header lines of the same name included, and returns the answer. */
async function ask(app: Pick<TestApp, 'url'>, headers: Headers, path = '/forward-auth'): Promise<WireAnswer> {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  const head = [`GET ${path} HTTP/1.1`, 'Host: governance', 'Connection: close', ...lines];
  const [answer] = await exchange(app, Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'));
  if (answer === undefined) throw new Error('The connection ended without an answer.');
  return answer;
}

describe('Forward auth', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: { TRUST_PROXY: '127.0.0.1/32', RATE_LIMIT: '1000000' } });
    const { id: bot } = await createAgent(app, { name: 'bot', capabilities: ['http.*'] });
    const { id: ann } = await createAgent(app, { name: 'ann', kind: 'human' });
    const open = { actions: ['http.*'], resources: [`${HOST}/v1/*`, `${HOST}/-`, 'http://api.example.com:8080/*'] };
    await createPolicy(app, open);
    const resources = [`${HOST}/v1/secret/*`, `${HOST}/v1/secret`];
    await createPolicy(app, { ...open, resources, effect: 'deny', priority: 5, name: 'secrets' });
    const paid = { actions: ['http.post', 'http.get'], resources: [`${HOST}/v1/payments/*`], priority: 5 };
    await createPolicy(app, { ...paid, effect: 'require_approval' });
    const { secret: key } = await issueKey(app, { scopes: ['execute'], agentId: bot });
    return { app, bot, ann, key };
  });

  const authorize = (headers: Headers, path?: string): Promise<WireAnswer> =>
    ask(stage.app, { 'X-API-Key': stage.key, ...headers }, path);
  const to = (target: string, method = 'GET', path?: string): Promise<WireAnswer> =>
    authorize({ 'X-Original-Method': method, 'X-Original-URL': target }, path);
  const reasonOf = ({ status, headers }: WireAnswer): unknown[] => [status, headers.get('x-reason') ?? null];
  const executions = async (): Promise<number> =>
    (await send(stage.app, 'GET', '/api/v1/executions?limit=1')).body.total;
  async function executed({ status, headers }: WireAnswer): Promise<unknown> {
    expect([status, headers.get('x-reason')]).toEqual([200, undefined]);
    const { body } = await send(stage.app, 'GET', `/api/v1/executions/${String(headers.get('x-execution-id'))}`);
    expect(body).toMatchObject({ agentId: stage.bot, outcome: 'authorized', resourceType: 'http' });
    const { action, resourceId, parameters } = body;
    return { action, resourceId, parameters };
  }
  /** Returns the faulty fields of a request, which must be 400. */
  async function faultOf(headers: Headers): Promise<string[]> {
    const before = await executions();
    const answer = await authorize(headers);
    expect([answer.status, answer.headers.get('x-execution-id'), await executions()]).toEqual([400, undefined, before]);
    return Object.keys(faults({ ...answer, headers: new globalThis.Headers() }));
  }

  it('is an execution of the method on the URL, in either family of headers', async () => {
    const expected = { action: 'http.get', resourceId: `${HOST}/v1/users`, parameters: {} };
    for (const headers of [NGINX, TRAEFIK]) {
      const answer = await authorize(headers);
      expect([answer.text, await executed(answer)]).toEqual(['', expected]);
    }
  });

  it.each([
    ['HTTPS://API.Example.COM/v1/Users', `${HOST}/v1/Users`, undefined],
    [`${HOST}:443/v1/a`, `${HOST}/v1/a`, undefined],
    ['http://api.example.com:8080/a', 'http://api.example.com:8080/a', undefined],
    [`${HOST}/`, `${HOST}/-`, undefined],
    [`${HOST}/v1/a/`, `${HOST}/v1/a/-`, undefined],
    [`${HOST}/v1/a%20b`, `${HOST}/v1/a%20b`, undefined],
    [`${HOST}/v1/a?x=1&y=%2F..%2F`, `${HOST}/v1/a`, 'x=1&y=%2F..%2F'],
    [`${HOST}/v1/a/?b?c/`, `${HOST}/v1/a/-`, 'b?c/'],
    [`${HOST}/v1/a?`, `${HOST}/v1/a`, ''],
    ['ws://api.example.com:8080/a', 'http://api.example.com:8080/a', undefined],
    ['WSS://api.example.com:443/v1/a?b', `${HOST}/v1/a`, 'b'],
  ])('takes %s for %s', async (url, resourceId, query) => {
    const parameters = query === undefined ? {} : { query };
    const [scheme = '', rest = ''] = url.split('://');
    const start = rest.indexOf('/');
    const parts = {
      ...{ 'X-Forwarded-Method': 'DELETE', 'X-Forwarded-Proto': scheme, 'X-Forwarded-Host': rest.slice(0, start) },
      'X-Forwarded-Uri': rest.slice(start),
    };
    const expected = { action: 'http.delete', resourceId, parameters };
    for (const answer of [await to(url, 'DELETE'), await authorize(parts)])
      expect(await executed(answer)).toEqual(expected);
  });

  it.each(OTHER_PATHS)('refuses the target %j, which could be read as another one', async (target) => {
    const before = await executions();
    for (const answer of [await to(`${HOST}${target}`), await authorize({ ...TRAEFIK, 'X-Forwarded-Uri': target })])
      expect(reasonOf(answer)).toEqual([403, 'resource_invalid']);
    expect(await executions()).toBe(before);
  });

  it.each(['*', '?a', 'v1/a', '@evil.example/v1/a', ':443:443/v1/a', '.evil.example/v1/a', 'http://evil.example/v1/a'])(
    'does not let the target %j change the host',
    async (target) => {
      expect(reasonOf(await authorize({ ...TRAEFIK, 'X-Forwarded-Uri': target }))).toEqual([403, 'resource_invalid']);
      expect(reasonOf(await to(`${HOST}${target}`))).toEqual([
        403,
        expect.stringMatching(/^(?:resource_in|no_policy_)/),
      ]);
    },
  );

  it.each([
    'api.example.com/v1',
    'u@api.example.com',
    'api.example.com?',
    'api.example.com#',
    'api.example.com\\',
    'a..b',
    'a.',
    'api.example.com:8443:443',
    'api.example.com:443:443',
  ])('refuses the host %j', async (host) => {
    expect(reasonOf(await authorize({ ...TRAEFIK, 'X-Forwarded-Host': host }))).toEqual([403, 'resource_invalid']);
  });

  it('refuses a CONNECT, which reaches the upstream as another method', async () => {
    const before = await executions();
    for (const answer of [
      await to(`${HOST}/v1/a`, 'CONNECT'),
      await authorize({ ...TRAEFIK, 'X-Forwarded-Method': 'CONNECT' }),
    ])
      expect(reasonOf(answer)).toEqual([403, 'resource_invalid']);
    expect(await executions()).toBe(before);
  });

  it('has no default port but that of the scheme', async () => {
    for (const host of ['api.example.com:80', 'api.example.com:4430'])
      expect(reasonOf(await authorize({ ...TRAEFIK, 'X-Forwarded-Host': host }))).toEqual([403, 'no_policy_allows']);
    for (const host of ['api.example.com:0443', 'api.example.com:'])
      expect(reasonOf(await authorize({ ...TRAEFIK, 'X-Forwarded-Host': host }))).toEqual([403, 'resource_invalid']);
  });

  it('needs one family of headers', async () => {
    expect(await faultOf({})).toEqual(['header']);
    for (const name of Object.keys(TRAEFIK)) expect(await faultOf({ ...NGINX, [name]: 'GET' })).toEqual(['header']);
    for (const name of Object.keys(NGINX)) expect(await faultOf({ ...TRAEFIK, [name]: '' })).toEqual(['header']);
  });

  it('needs it whole, and each header once', async () => {
    for (const family of [NGINX, TRAEFIK]) {
      for (const [name, value] of Object.entries(family)) {
        const field = `header.${name}`;
        const { [name as keyof typeof family]: _left, ...rest } = family;
        expect(await faultOf(rest)).toEqual([field]);
        for (const values of [[value, value], [value, ''], ''])
          expect(await faultOf({ ...family, [name]: values })).toEqual([field]);
        expect(await faultOf({ ...rest, [name.toUpperCase()]: [value], [name.toLowerCase()]: value })).toEqual([field]);
      }
    }
  });

  it('needs a method, and a web address', async () => {
    for (const method of ['GET, POST', 'G T', '(', 'x'.repeat(96)])
      expect(await faultOf({ ...NGINX, 'X-Original-Method': method })).toEqual(['header.X-Original-Method']);
    for (const url of [
      '/v1/users',
      'api.example.com/v1/users',
      'ftp://api.example.com/a',
      'https:/a',
      `${HOST} , x://b`.slice(4),
    ])
      expect(await faultOf({ ...NGINX, 'X-Original-URL': url })).toEqual(['header.X-Original-URL']);
    for (const scheme of ['wsss', 'constructor', 'https,http', 'https:'])
      expect(await faultOf({ ...TRAEFIK, 'X-Forwarded-Proto': scheme })).toEqual(['header.X-Forwarded-Proto']);
  });

  it('refuses what policies deny, and what none allows, on record', async () => {
    const denied = await to(`${HOST}/v1/secret/`);
    expect([...reasonOf(denied), denied.body.error.code]).toEqual([403, 'policy_denied', 'POLICY_DENIED']);
    expect(reasonOf(await to(`${HOST}/v2`))).toEqual([403, 'no_policy_allows']);
    const { data } = (await send(stage.app, 'GET', '/api/v1/executions?outcome=denied&order=desc&limit=2')).body;
    expect(data.map(({ resourceId, reason }: Record<string, unknown>) => [resourceId, reason])).toEqual([
      [`${HOST}/v2`, 'no_policy_allows'],
      [`${HOST}/v1/secret/-`, 'policy_denied'],
    ]);
  });

  const approve = (id: unknown, verdict = 'approve'): Promise<unknown> =>
    send(stage.app, 'POST', `/api/v1/decisions/${String(id)}/${verdict}`, { body: { approverId: stage.ann } });

  it('waits for an approval, which the same request uses, once', async () => {
    const url = `${HOST}/v1/payments/1`;
    const first = await to(`${url}?amount=80`, 'POST');
    const again = await to('HTTPS://api.EXAMPLE.com:443/v1/payments/1?amount=80', 'POST');
    const decisionId = first.headers.get('x-decision-id');
    for (const answer of [first, again]) {
      expect([...reasonOf(answer), answer.headers.get('x-decision-id')]).toEqual([
        403,
        'approval_required',
        decisionId,
      ]);
      expect(answer.body.error).toMatchObject({ code: 'PERMISSION_DENIED', decisionId });
    }
    await approve(decisionId);
    // Another query, method or URL is another action.
    for (const [other, method] of [[`${url}?amount=81`], [url], [`${url}?amount=80`, 'GET']] as const)
      expect(reasonOf(await to(other, method ?? 'POST'))).toEqual([403, 'approval_required']);
    const racing = await Promise.all(Array.from({ length: 5 }, () => to(`${url}?amount=80`, 'POST')));
    const passed = racing.filter(({ status }) => status === 200);
    expect(passed).toHaveLength(1);
    const [execution] = (await send(stage.app, 'GET', `/api/v1/executions?decisionId=${String(decisionId)}`)).body.data;
    expect(passed[0]?.headers.get('x-execution-id')).toBe(execution.id);
    const others = new Set(
      racing.filter(({ status }) => status !== 200).map((answer) => answer.headers.get('x-decision-id')),
    );
    expect([others.size, others.has(decisionId ?? '')]).toEqual([1, false]);
  });

  it('is refused after a rejection, which the headers name', async () => {
    const url = `${HOST}/v1/payments/2`;
    const decisionId = (await to(url, 'POST')).headers.get('x-decision-id');
    await approve(decisionId, 'reject');
    const answer = await to(url, 'POST');
    expect([...reasonOf(answer), answer.headers.get('x-decision-id')]).toEqual([403, 'approval_rejected', decisionId]);
  });

  it('only evaluates what reads, where writes are to be recorded', async () => {
    const path = '/forward-auth?record=writes';
    const before = await executions();
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await to(`${HOST}/v1/a`, method, path);
      expect([status, headers.get('x-execution-id')]).toEqual([200, undefined]);
      expect(reasonOf(await to(`${HOST}/v1/secret`, method, path))).toEqual([403, 'policy_denied']);
      expect(reasonOf(await to(`${HOST}/v2`, method, path))).toEqual([403, 'no_policy_allows']);
    }
    const waiting = await to(`${HOST}/v1/payments/3`, 'GET', path);
    expect([...reasonOf(waiting), waiting.headers.get('x-decision-id')]).toEqual([403, 'approval_required', undefined]);
    expect(await executions()).toBe(before);
    for (const method of ['POST', 'DELETE', 'OPTIONS', 'get']) await executed(await to(`${HOST}/v1/a`, method, path));
    expect(await executions()).toBe(before + 4);
    expect((await to(`${HOST}/v1/a`, 'GET', '/forward-auth?record=all')).status).toBe(400);
  });

  it('records what is let through only because the agent is observed', async () => {
    const path = '/forward-auth?record=writes';
    const observe = async (observeUntil: string | null): Promise<number> =>
      (await send(stage.app, 'PATCH', `/api/v1/agents/${stage.bot}`, { body: { observeUntil } })).status;
    expect(await observe(new Date(Date.now() + 600_000).toISOString())).toBe(200);
    const before = await executions();
    const { status, headers } = await to(`${HOST}/v2`, 'GET', path);
    expect([status, headers.get('x-execution-id')]).toEqual([200, expect.any(String)]);
    expect((await to(`${HOST}/v1/a`, 'GET', path)).headers.get('x-execution-id')).toBeUndefined();
    expect(await executions()).toBe(before + 1);
    expect(await observe(null)).toBe(200);
  });

  it('is for callers that are bound to an agent and may execute, and tells gateways why not', async () => {
    const { secret: unbound } = await issueKey(stage.app, { scopes: ['execute'] });
    const { secret: reader, id } = await issueKey(stage.app, { scopes: ['read'], agentId: stage.bot });
    expect(reasonOf(await authorize({ ...NGINX, 'X-API-Key': unbound }))).toEqual([403, 'caller_not_bound']);
    expect(reasonOf(await authorize({ ...NGINX, 'X-API-Key': reader }))).toEqual([403, 'scope_missing']);
    expect(await auditOf(stage.app, id)).toContainEqual(
      expect.objectContaining({
        action: 'access.denied',
        details: expect.objectContaining({ route: '/forward-auth' }),
      }),
    );
  });

  it('does not look at Authorization where there is a key, which may be given once', async () => {
    const { key } = stage;
    for (const Authorization of ['Bearer of-the-upstream', `Bearer ${key}`, 'Basic eDp5', ['Bearer a', 'Bearer b']])
      expect((await authorize({ ...NGINX, Authorization })).status).toBe(200);
    expect((await authorize({ ...NGINX, 'X-API-Key': [key, key] })).status).toBe(401);
    expect((await authorize({ ...NGINX, 'X-API-Key': 'wrong', Authorization: `Bearer ${key}` })).status).toBe(401);
    expect((await ask(stage.app, { ...NGINX, Authorization: `Bearer ${key}` })).status).toBe(200);
    expect((await ask(stage.app, { ...NGINX, Authorization: 'Basic eDp5' })).status).toBe(401);
    // Elsewhere two are one too many.
    const headers = { Authorization: 'Bearer of-the-upstream' };
    expect((await send(stage.app, 'GET', '/api/v1/me', { key, headers })).status).toBe(401);
  });
});

describe('What a gateway says of a request', () => {
  it.each([
    ['', 400],
    ['1', 400],
    ['10.0.0.0/8', 400],
    ['10.0.0.0/8,127.0.0.0/8', 200],
    ['::1', 400],
  ])('is believed with TRUST_PROXY=%s: %d', async (proxies, status) => {
    const app = await createTestApp({ environment: proxies === '' ? {} : { TRUST_PROXY: proxies } });
    const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ['http.get'] });
    await createPolicy(app);
    const { secret: key } = await issueKey(app, { scopes: ['execute'], agentId });
    // Who sends that is decided by the connection, not by what it says.
    const headers = { 'X-API-Key': key, 'X-Forwarded-For': '10.1.1.1' };
    const answers = [await ask(app, { ...headers, ...NGINX }), await ask(app, { ...headers, ...TRAEFIK })];
    expect(answers.map((answer) => answer.status)).toEqual([status, status]);
    await chainIsValid(app);
    await app.close();
  });
});
