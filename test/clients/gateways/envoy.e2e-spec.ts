import { Redis } from 'ioredis';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { codeBlocks, readDocument, ROOT } from '../../support/documents/markdown';
import { describeWhereReachable, REDIS_SERVER } from '../../support/processes/where-reachable';

type Headers = Readonly<Record<string, string>>;

/** The result of a request's script. */
interface ScriptRun {
  readonly asked: { readonly cluster: string; readonly headers: Headers };
  /** The headers of the answer to the client; absent if the request goes on. */
  readonly answer?: Headers;
  /** The headers with which it goes on. */
  readonly headers: Headers;
  readonly metadata?: readonly string[];
  readonly isRoutedAgain?: boolean;
}

interface ScriptReply {
  readonly headers: Headers;
  readonly body: string;
}

const HOST = 'https://api.example.com';
const CLIENT = '198.51.100.7:40000';

/**
 * Runs the script as Envoy does, with the reply of the service in place of a call. Redis has the same version of Lua.
 */
const HARNESS = `
local headers = cjson.decode(ARGV[1])
local reply = cjson.decode(ARGV[2])
local run = {}
local methods = {}
methods.get = function(self, name) return rawget(self, name) end
methods.remove = function(self, name) rawset(self, name, nil) end
setmetatable(headers, { __index = methods })
local metadata = { set = function(_, filter, key, value) run.metadata = { filter, key, value } end }
local info = {
  downstreamDirectRemoteAddress = function() return '${CLIENT}' end,
  dynamicMetadata = function() return metadata end,
}
envoy_on_request({
  headers = function() return headers end,
  streamInfo = function() return info end,
  httpCall = function(_, cluster, sent) run.asked = { cluster = cluster, headers = sent }; return reply.headers, reply.body end,
  respond = function(_, answer) run.answer = answer end,
  clearRouteCache = function() run.isRoutedAgain = true end,
})
run.headers = headers
return cjson.encode(run)
`;

interface Named {
  readonly name: string;
}

/** The parts of the documented file that the tests look at. */
interface EnvoyFile {
  readonly static_resources: {
    readonly listeners: readonly {
      readonly filter_chains: readonly { readonly filters: readonly { readonly typed_config: HttpManager }[] }[];
    }[];
    readonly clusters: readonly Named[];
  };
}

interface HttpManager {
  readonly route_config: { readonly virtual_hosts: readonly { readonly routes: readonly Route[] }[] };
  readonly http_filters: readonly (Named & {
    readonly typed_config: { readonly default_source_code?: { readonly inline_string: string } };
  })[];
}

interface Route {
  readonly match: { readonly dynamic_metadata?: readonly object[] };
  readonly route?: object;
  readonly direct_response?: object;
}

function documentedFile(): EnvoyFile {
  const code =
    codeBlocks(readDocument('docs/forward-auth.md')).find(({ language }) => language === 'envoy')?.code ?? '';
  const { parse } = createRequire(join(ROOT, 'clients', 'cli', 'package.json'))('yaml') as {
    parse: (text: string) => EnvoyFile;
  };
  return parse(code);
}

describeWhereReachable([REDIS_SERVER], 'Envoy, as docs/forward-auth.md has it', () => {
  const file = documentedFile();
  const manager = file.static_resources.listeners[0]?.filter_chains[0]?.filters[0]?.typed_config;
  const source = manager?.http_filters[0]?.typed_config.default_source_code?.inline_string ?? '';
  // Redis has no global functions.
  const script = source.replace('function envoy_on_request', 'local function envoy_on_request') + HARNESS;
  let app: TestApp;
  let redis: Redis;
  let key: string;
  let ann: string;

  beforeAll(async () => {
    redis = new Redis(REDIS_SERVER.port, REDIS_SERVER.host);
    app = await createTestApp({ environment: { TRUST_PROXY: '127.0.0.0/8' } });
    const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ['http.*'] });
    ann = (await createAgent(app, { name: 'ann', kind: 'human' })).id;
    key = (await issueKey(app, { scopes: ['execute'], agentId })).secret;
    await createPolicy(app, { name: 'api', resources: [`${HOST}/v1/*`] });
    const paid = { actions: ['http.post'], resources: [`${HOST}/v1/payments`], priority: 1 };
    await createPolicy(app, { effect: 'require_approval', ...paid });
  });
  afterAll(async () => {
    redis.disconnect();
    await chainIsValid(app);
    await app.close();
  });

  async function runScript(headers: Headers, reply: ScriptReply): Promise<ScriptRun> {
    return JSON.parse(String(await redis.eval(script, 0, JSON.stringify(headers), JSON.stringify(reply)))) as ScriptRun;
  }

  /** A request of a client: the script asks the service, and gets its answer. */
  async function through(method: string, path: string, more: Headers = {}): Promise<ScriptRun> {
    const headers = { ':method': method, ':path': path, ':authority': 'evil.example', 'x-api-key': key, ...more };
    const { asked: call } = await runScript(headers, { headers: { ':status': '503' }, body: '' });
    expect([call.cluster, call.headers[':method'], call.headers[':path']]).toEqual([
      'governance',
      'GET',
      '/forward-auth',
    ]);
    const sent = Object.entries(call.headers).filter(([name]) => !name.startsWith(':'));
    const answer = await fetch(`${app.url}/forward-auth`, { headers: sent });
    const replied = { ...Object.fromEntries(answer.headers), ':status': String(answer.status) };
    return runScript(headers, { headers: replied, body: await answer.text() });
  }

  it('passes on what is allowed, with listed headers only', async () => {
    const lies = {
      'x-forwarded-uri': '/v1/b',
      'x-original-url': 'https://evil.example/',
      forwarded: 'host=x',
      'x-other': '1',
    };
    const { answer, headers, metadata, isRoutedAgain } = await through('PUT', '/v1/a/?b=%2F', {
      ...lies,
      authorization: 'Bearer of-the-upstream',
      'content-length': '3',
    });
    expect([answer, metadata, isRoutedAgain]).toEqual([undefined, ['governance', 'allowed', 'yes'], true]);
    expect(headers).toEqual({
      ...{ ':method': 'PUT', ':path': '/v1/a/?b=%2F', ':authority': 'evil.example' },
      ...{ authorization: 'Bearer of-the-upstream', 'content-length': '3' },
    });
    const [execution] = (await send(app, 'GET', '/api/v1/executions?order=desc&limit=1')).body.data;
    expect(execution).toMatchObject({
      action: 'http.put',
      resourceId: `${HOST}/v1/a/-`,
      parameters: { query: 'b=%2F' },
    });
  });

  it('answers what is denied, waits, or could not be asked about, and routes none of it', async () => {
    const denied = await through('GET', '/v2/a');
    expect(denied.answer).toMatchObject({ ':status': '403', 'x-reason': 'no_policy_allows' });
    const unknown = await through('GET', '/v1/a', { 'x-api-key': 'wrong' });
    expect(unknown.answer).toMatchObject({ ':status': '401' });
    const waiting = await through('POST', '/v1/payments');
    expect(waiting.answer).toMatchObject({ ':status': '403', 'x-reason': 'approval_required' });
    const lost = await runScript({ ':method': 'GET', ':path': '/v1/a' }, { headers: { ':status': '503' }, body: '' });
    expect(lost.answer).toEqual({ ':status': '503' });
    for (const { metadata, isRoutedAgain } of [denied, unknown, waiting, lost])
      expect([metadata, isRoutedAgain]).toEqual([undefined, undefined]);
    const decision = `/api/v1/decisions/${String(waiting.answer?.['x-decision-id'])}`;
    expect((await send(app, 'POST', `${decision}/approve`, { body: { approverId: ann } })).status).toBe(200);
    expect((await through('POST', '/v1/payments')).answer).toBeUndefined();
    expect((await through('POST', '/v1/payments')).answer).toMatchObject({ ':status': '403' });
  });

  it('has a route to the upstream only for what the script has allowed', () => {
    expect(manager?.http_filters.map(({ name }) => name)).toEqual([
      'envoy.filters.http.lua',
      'envoy.filters.http.router',
    ]);
    const routes = manager?.route_config.virtual_hosts.flatMap((host) => host.routes);
    expect(routes).toEqual([
      {
        match: {
          prefix: '/',
          dynamic_metadata: [
            { filter: 'governance', path: [{ key: 'allowed' }], value: { string_match: { exact: 'yes' } } },
          ],
        },
        route: { cluster: 'api', host_rewrite_literal: 'api.example.com' },
      },
      { match: { prefix: '/' }, direct_response: { status: 403 } },
    ]);
    expect(file.static_resources.clusters.map(({ name }) => name)).toEqual(['governance', 'api']);
  });
});
