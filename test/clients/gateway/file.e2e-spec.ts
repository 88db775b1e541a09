import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnSqlite } from '../../support/database/database-kind';
import { ROOT } from '../../support/documents/markdown';
import type { ProgramRun } from '../../support/processes/shell';
import { buildCommandLine, gov } from '../command-line';

const KEY = 'vendor-credential-4711';
const ROUTE = { match: 'GET /a', action: 'read', resource: { type: 'api', id: 'a' } };
const API = { url: 'https://api.example', routes: [ROUTE] };
const route = (members: object): object => ({ upstreams: { api: { ...API, routes: [{ ...ROUTE, ...members }] } } });
const upstream = (members: object): object => ({ upstreams: { api: { ...API, ...members } } });
const credential = (members: object): object => upstream({ credentials: [members] });
const top = (members: object): object => ({ ...members, upstreams: { api: API } });

const FAULTY: readonly (readonly [object, string])[] = [
  [{}, 'upstreams'],
  [{ upstreams: {} }, 'upstreams'],
  [top({ other: 1 }), 'other is not known here'],
  [top({ listen: '8088' }), 'listen must be an IP address or localhost'],
  [top({ listen: '127.0.0.1:70000' }), 'listen must be'],
  [top({ listen: '10.0.0.1:8088' }), 'listen is an address that other machines can reach'],
  [top({ listen: '[::]:8088' }), 'listen is an address that other machines can reach'],
  [top({ metrics: '0.0.0.0:9090', tls: { cert: 'a', key: 'b' } }), 'metrics is an address that other machines'],
  [top({ tls: { cert: 'a' } }), 'tls needs key'],
  [top({ publicUrl: 'http://a.example' }), 'publicUrl must be an https origin'],
  [top({ publicUrl: 'https://a.example/b' }), 'publicUrl must be an https origin'],
  [top({ names: ['a:1'] }), 'names[0] must be a host name'],
  [top({ service: 'governance' }), 'service must be the URL'],
  [top({ oauth: { issuers: ['login'] } }), 'oauth.issuers[0] must be'],
  [{ upstreams: { Api: API } }, 'upstreams.Api must have a name'],
  [{ upstreams: { '1a': API } }, 'must have a name'],
  [{ upstreams: { ['a'.repeat(41)]: API } }, 'must have a name'],
  [{ upstreams: { api: { routes: [ROUTE] } } }, 'upstreams.api needs url'],
  [upstream({ mcp: 'https://a/mcp' }), 'is not known here'],
  [upstream({ map: 'a.json' }), 'map is not known here'],
  ...[{ headers: ['Vendor'] }, { idempotencyHeader: 'Vendor' }].map(
    (members) =>
      [
        { upstreams: { api: { mcp: 'https://a/mcp', ...members } } },
        `upstreams.api.${Object.keys(members).join('')} is not served for MCP upstreams`,
      ] as const,
  ),
  [{ upstreams: { api: { mcp: 'https://a/mcp', ask: ['kind:robot'] } } }, 'upstreams.api.ask[0] must be one of kind:'],
  [upstream({ url: 'ftp://a' }), 'url must be a URL'],
  [upstream({ url: 'http://api.example' }), 'url must begin with https://'],
  [upstream({ url: 'https://a:b@api.example' }), 'url must have no user name'],
  [upstream({ url: 'https://api.example?a=b' }), 'url must have no query'],
  [
    { upstreams: { api: { ...API, hosts: ['A.example.'] }, b: { ...API, url: 'x', hosts: ['a.example'] } } },
    'upstreams.b.hosts[0] is also a host of the upstream api',
  ],
  ...['Connection', 'Content-Length', 'TE', 'Host', 'Cookie', 'Range', 'X-API-Key', 'Authorization', 'X-Auth-Token']
    .concat(
      'X-HTTP-Method-Override',
      'X-Forwarded-For',
      'X-Original-URL',
      'X-Rewrite-URL',
      'X-Forwarded-Prefix',
      'a_b',
      'a b',
    )
    .map((name) => [upstream({ headers: [name] }), 'upstreams.api.headers[0] '] as const),
  [upstream({ headers: ['A', 'a'] }), 'headers[1] is there twice'],
  [
    upstream({ headers: ['Idempotency-Key'], idempotencyHeader: 'idempotency-key' }),
    'headers[0] is the idempotencyHeader',
  ],
  [
    upstream({ headers: ['Vendor'], credentials: [{ header: 'Vendor', value: '${env:VENDOR}' }] }),
    'headers[0] carries keys',
  ],
  [upstream({ idempotencyHeader: 'Content-Length' }), 'idempotencyHeader is a header'],
  [credential({ header: 'A', value: 'Bearer sk-12345678' }), 'credentials[0].value must have exactly one'],
  [credential({ header: 'A', value: '${env:A}${env:B}' }), 'value must have exactly one'],
  [credential({ header: 'A', value: '${env:GOVERNANCE_API_KEY}' }), 'value must not name GOVERNANCE_'],
  [credential({ header: 'A', value: '${file:key}' }), 'value must name a file from the root'],
  [credential({ header: 'A', value: 'a\n${env:A}' }), 'value must have visible ASCII'],
  [credential({ header: 'Host', value: '${env:A}' }), 'header is a header'],
  [credential({ header: 'A', query: 'b', value: '${env:A}' }), 'header is not known here'],
  [credential({ basic: { user: 'a:b', password: '${env:A}' } }), 'basic.user must have'],
  [credential({ basic: { user: 'a', password: 'secret-secret' } }), 'basic.password must have exactly one'],
  [credential({ header: 'A', value: '${env:SHORT}' }), 'must have at least 8 characters'],
  [
    upstream({
      credentials: [
        { header: 'A', value: '${env:A}' },
        { header: 'a', value: '${env:B}' },
      ],
    }),
    'credentials must not have two',
  ],
  [upstream({ hold: 'PT61S' }), 'hold must be an ISO 8601 duration'],
  [upstream({ timeout: 'soon' }), 'timeout must be an ISO 8601 duration'],
  [upstream({ maxBody: 67_108_865 }), 'maxBody must be <= 67108864'],
  [{ upstreams: { shop: { mcp: 'https://a.example/mcp', maxBody: 4_194_305 } } }, 'maxBody must be at most 4194304'],
  [
    route({ match: 'POST /a', resource: { type: 'api', id: '${body:/id}' }, maxBody: 8_388_609 }),
    'routes[0].maxBody must be at most 8388608 where a template takes a value from the body',
  ],
  [upstream({ secret: ['card'] }), 'secret[0] must be a JSON Pointer'],
  [upstream({ routes: [] }), 'routes must have at least one item'],
  ...[
    'GET',
    '/a',
    'GET a',
    'get /a',
    'TRACE /a',
    'GET, POST /a',
    'GET,GET /a',
    'GET /a/',
    'GET //a',
    'GET /a/../b',
    'GET /{id}',
  ]
    .concat('GET /:', 'GET /:a-b', 'GET /:a/:a', 'GET /*a/b', 'GET /a*', 'GET /é', 'GET /a;b', 'GET /a?b', 'GET /%61')
    .map((match) => [route({ match }), 'upstreams.api.routes[0].match '] as const),
  [route({ action: 'read*' }), 'action must be one action'],
  [route({ action: '${path:a}' }), 'action must have no template'],
  [route({ resource: { type: '${path:a}', id: 'a' } }), 'resource.type must have no template'],
  [route({ resource: { type: 'api', id: 'a-${path:a}' } }), 'resource.id must have a template as a whole segment'],
  [route({ resource: { type: 'api', id: '${header:a}' } }), 'resource.id has the template ${header:a}'],
  [route({ resource: { type: 'api', id: '${path:a}' } }), 'match has no ":a"'],
  [route({ resource: { type: 'api', id: '${body:/access_token}' } }), 'at a secret value'],
  [route({ resource: { type: 'api', id: '${query:api-key}' } }), 'at a secret value'],
  [route({ secret: ['/body/**/pin'], resource: { type: 'api', id: '${body:/a/0/pin}' } }), 'at a secret value'],
  [route({ resource: { type: 'api', id: 'a/../b' } }), 'resource.id must not have'],
  [route({ parameters: { a: 'x ${query:q}' } }), 'parameters.a must have a template as its whole value'],
  [route({ parameters: { request: 1 } }), 'parameters.request is a member that the gateway adds'],
  [route({ parameters: { a: { $secret: 1 } } }), 'is not possible as a name'],
  [route({ match: 'GET,POST /a', record: false }), 'record may be false only'],
];

// Independent of the database, so once is enough.
describeOnSqlite('gov gateway check', () => {
  let folder: string;

  beforeAll(async () => {
    await buildCommandLine();
    folder = mkdtempSync(join(tmpdir(), 'gov-gateway-file-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const environment = { VENDOR: KEY, SHORT: 'short', GOVERNANCE_URL: 'http://127.0.0.1:1' };
  const check = (text: string, name = 'gateway.yaml'): Promise<ProgramRun> => {
    writeFileSync(join(folder, name), text);
    return gov(['gateway', 'check', name], { environment, folder });
  };

  it('refuses each fault with its place', async () => {
    for (const [file, fault] of FAULTY) {
      const { exitCode, errors } = await check(JSON.stringify(file, null, 2));
      expect([fault, errors]).toEqual([fault, expect.stringContaining(fault)]);
      expect(errors).toMatch(/^gateway\.yaml:\d+:\d+: /);
      expect(exitCode).toBe(78);
      expect(errors).not.toMatch(/sk-12345678|secret-secret/);
    }
  });

  it.each(['map', 'lock'])('refuses a %s of an MCP upstream that cannot be used', async (member) => {
    writeFileSync(join(folder, 'wrong.json'), '[]');
    const shop = { mcp: 'https://shop/mcp', [member]: 'wrong.json' };
    const { exitCode, errors } = await check(JSON.stringify({ upstreams: { shop } }));
    expect([exitCode, errors]).toEqual([78, expect.stringContaining(`upstreams.shop.${member} cannot be used`)]);
  });

  it.each([
    ['an anchor', 'a: &x 1', '1:7'],
    ['a tag', 'a: 1\nb: !!str 1', '2:10'],
    ['a repeated name', 'a: 1\nb: 2\na: 3', '3:1'],
    ['another document', 'a: 1\n---\nb: 1', '2:1'],
    ['a wrong indent', 'a: 1\n b: 1', '1:4'],
  ])('refuses %s', async (_, text, place) => {
    const { exitCode, errors } = await check(text);
    expect([exitCode, errors]).toEqual([78, expect.stringContaining(`gateway.yaml:${place}`)]);
  });

  it('refuses YAML in a file that is named JSON', async () => {
    expect(await check('upstreams: {}', 'gateway.json')).toMatchObject({ exitCode: 78 });
  });

  it('reports all faults at once, in the order of the file', async () => {
    const faulty = {
      listen: 'x',
      upstreams: { A: { url: 'x', routes: [{ match: 'x' }, 5, { ...ROUTE, record: 'no' }] } },
    };
    const { errors } = await check(JSON.stringify(faulty, null, 1));
    const lines = errors
      .trim()
      .split('\n')
      .map((line) => Number(line.split(':')[1]));
    expect(lines).toEqual([...lines].sort((one, other) => one - other));
    expect(lines.length).toBeGreaterThanOrEqual(8);
  });

  it('prints the routes, and warns of what is hidden, open or missing', async () => {
    const routes = [
      { ...ROUTE, match: 'GET /v1/:any', record: false },
      { ...ROUTE, match: 'GET /v1/b' },
      { ...ROUTE, match: 'POST /V1/c' },
      { ...ROUTE, match: 'POST /v1/c' },
      { ...ROUTE, match: 'GET,POST /v1/d' },
      { ...ROUTE, match: 'GET /v2/*rest' },
    ];
    const credentials = [
      { header: 'A', value: 'Bearer ${env:NOT_SET}' },
      { query: 'key', value: '${file:/nowhere/key}' },
      { basic: { user: '${env:VENDOR}', password: '${env:VENDOR}' } },
    ];
    const api = { ...API, routes, credentials, ca: 'ca.pem' };
    const { exitCode, output, errors } = await check(
      JSON.stringify({ $schema: 'x', upstreams: { api, shop: { mcp: 'https://shop/mcp' } } }),
    );
    expect(exitCode).toBe(0);
    expect(output).toMatch(/^GET +\/api\/v1\/:any +read \(not recorded\) +api a$/m);
    expect(output).toMatch(/^MCP at \/shop\/mcp/m);
    const warnings = [
      ...['names the file .*ca.pem', 'NOT_SET is not set', '/nowhere/key cannot be read'],
      ...['routes\\[1\\].match is never reached: GET /v1/:any', 'routes\\[3\\].match is never reached: POST /V1/c'],
      'routes\\[5\\].match has \\*rest',
    ];
    for (const warning of warnings) expect(errors).toMatch(new RegExp(`${warning}.*\\(warning\\)`));
    expect(errors.trim().split('\n')).toHaveLength(warnings.length);
    expect(output + errors).not.toContain(KEY);
  });

  const fileOfRoutes = (length: number): string => {
    const routes = Array.from({ length }, (_, index) => ({
      ...ROUTE,
      match: `GET,POST /v1/things${index}/:id/parts/:part`,
    }));
    return JSON.stringify(upstream({ routes }), null, 1);
  };

  it('reads a file of 2,000 routes, and refuses more of one upstream', async () => {
    const { exitCode, output } = await check(fileOfRoutes(2_000));
    expect([exitCode, output.split('\n').length]).toEqual([0, 2_003]);
    const refused = await check(fileOfRoutes(2_001));
    expect([refused.exitCode, refused.errors]).toEqual([
      78,
      expect.stringMatching(/api\.routes must not have more than 2000 items/),
    ]);
  });

  it('refuses a pipe in place of a file, and waits for nobody who writes into it', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const ofFile = await gov(['gateway', 'check', 'pipe'], { environment, folder });
    expect([ofFile.exitCode, ofFile.errors]).toEqual([1, expect.stringContaining('it is no regular file')]);
    const credentials = [{ header: 'A', value: `Bearer \${file:${pipe}}` }];
    const shop = { mcp: 'https://shop/mcp', map: 'pipe' };
    const { exitCode, errors } = await check(JSON.stringify({ upstreams: { api: { ...API, credentials }, shop } }));
    expect([exitCode, errors.split('\n').filter((line) => line.includes('regular file'))]).toEqual([
      78,
      [expect.stringContaining('credentials[0]'), expect.stringContaining('shop.map')],
    ]);
  });

  it('prints the action of a request, or why it is refused', async () => {
    writeFileSync(
      join(folder, 'ask.json'),
      JSON.stringify(route({ match: 'POST /a', resource: { type: 'api', id: '${body:/id}' } })),
    );
    writeFileSync(join(folder, 'body.json'), '{"id":"7"}');
    const ask = (...words: string[]): Promise<ProgramRun> =>
      gov(['gateway', 'ask', 'ask.json', ...words], { environment, folder });
    const { exitCode, output } = await ask('POST', '/api/a', '--data', '@body.json');
    expect([exitCode, output]).toEqual([0, expect.stringMatching(/^Resource {2}api 7$/m)]);
    expect(await ask('POST', '/api/a', '--data', '{"id":"a/b"}')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('400 resource_missing: ${body:/id} must'),
    });
    expect(await ask('POST', '/other/a')).toMatchObject({ exitCode: 1, errors: expect.stringContaining('/api') });
    writeFileSync(join(folder, 'large'), '');
    truncateSync(join(folder, 'large'), 3 * 2 ** 30);
    execFileSync('mkfifo', [join(folder, 'body-pipe')]);
    const unusable = { '.': 'it is no regular file', 'body-pipe': 'it is no regular file', large: 'it has more than' };
    for (const [path, fault] of Object.entries({ ...unusable, missing: 'ENOENT' }))
      expect(await ask('POST', '/api/a', '--data', `@${path}`)).toMatchObject({
        exitCode: 1,
        errors: expect.stringMatching(new RegExp(`^The file ${path} of --data cannot be read: .*${fault}.*\\n$`)),
      });
  });

  it('refuses a file that is too large, or nested too deep', async () => {
    writeFileSync(join(folder, 'large.yaml'), '');
    truncateSync(join(folder, 'large.yaml'), 3 * 2 ** 30);
    const large = await gov(['gateway', 'check', 'large.yaml'], { environment, folder });
    expect([large.exitCode, large.errors]).toEqual([1, expect.stringContaining('it has more than 67108864 bytes')]);
    const deep = await check('['.repeat(100_000));
    expect([deep.exitCode, deep.errors]).toEqual([78, expect.stringContaining(': This is nested too deep.')]);
  });

  it('knows the members that the documentation has', () => {
    const page = readFileSync(join(ROOT, 'docs', 'gateway.md'), 'utf8');
    const schema = JSON.parse(readFileSync(join(ROOT, 'gateway.schema.json'), 'utf8')) as {
      properties: object;
      definitions: Readonly<Record<string, { readonly properties?: object }>>;
    };
    const names = [schema, ...Object.values(schema.definitions)].flatMap(({ properties = {} }) =>
      Object.keys(properties),
    );
    const words = new Set(page.match(/[$\w]+/g));
    expect(names.filter((name) => !words.has(name))).toEqual([]);
  });
});
