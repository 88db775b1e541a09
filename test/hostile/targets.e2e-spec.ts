import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent } from '../support/application/factories';
import { exchange, expectRefusal, type ExpectedAnswer, invalid, summaryOf, wire } from '../support/application/wire';

const NOT_FOUND: ExpectedAnswer = { status: 404, code: 'NOT_FOUND' };
const NOT_ALLOWED: ExpectedAnswer = { status: 405, code: 'METHOD_NOT_ALLOWED' };
const NO_HTTP = invalid('request');
const TOO_LARGE: ExpectedAnswer = { status: 431, code: 'HEADERS_TOO_LARGE' };
const KEYLESS: ExpectedAnswer = { status: 401, code: 'UNAUTHORIZED' };

const to = (target: string): Buffer => wire(`GET ${target} HTTP/1.1`);
const keylessTo = (target: string): Buffer =>
  Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);

describe('A target', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'caf\u00e9' });
    await createAgent(app, { name: '..%2f' });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it.each<[string, ExpectedAnswer]>([
    ['/api/v1/entities/%', invalid('path')],
    ['/api/v1/entities/%f', invalid('path')],
    ['/api/v1/entities/%gg', invalid('path')],
    ['/api/v1/entities/%u0041', invalid('path')],
    ['/api/v1/entities/%ff', invalid('path')],
    ['/api/v1/entities/%c0%ae%c0%ae', invalid('path')],
    ['/api/v1/entities/%c3', invalid('path')],
    ['/api/v1/entities/%ed%a0%80', invalid('path')],
    ['/api/v1/entities/%f4%90%80%80', invalid('path')],
    ['/api/v1/entities/%00', invalid('path')],
    ['/api/v1/entities/ent_1%00.json', invalid('path')],
    ['/api/v1/entities/a/claims/%ff', invalid('path')],
    ['/api/v1/nothing/%ff', invalid('path')],
    ['/%2', invalid('path')],
    ['/docs/%00', invalid('path')],
    ['*', invalid('path')],
    ['ftp://x/api/v1/stats', invalid('path')],
    ['ftp://', invalid('path')],
    ['api/v1/stats', NO_HTTP],
    ['\\api\\v1\\stats', NO_HTTP],
    ['?', NO_HTTP],
    ['x:443', NO_HTTP],
    ['javascript:alert(1)', NO_HTTP],
    ['/api/v1/stats /x', NO_HTTP],
    [`/api/v1/entities/${'a'.repeat(17_000)}`, TOO_LARGE],
    [`/api/v1/entities/${'a'.repeat(15_000)}`, NOT_FOUND],
    [`/api/v1/entities/${'%41'.repeat(5_000)}`, NOT_FOUND],
    [`/${'a/'.repeat(7_000)}`, NOT_FOUND],
    ['/api/v1/entities/..', NOT_FOUND],
    ['/api/v1/entities/../stats', NOT_FOUND],
    ['/api/v1/entities/%2e%2e', NOT_FOUND],
    ['/api/v1/entities/%2e%2e/stats', NOT_FOUND],
    ['/api/v1/entities/..%2fstats', NOT_FOUND],
    ['/api/v1/entities/..%5cstats', NOT_FOUND],
    ['/api/v1/entities/%252e%252e', NOT_FOUND],
    ['/api/v1/entities/x%2fclaims', NOT_FOUND],
    ['/api/v1/./stats', NOT_FOUND],
    ['/api/v1//stats', NOT_FOUND],
    ['//api/v1/stats', NOT_FOUND],
    ['//evil.example/api/v1/stats', NOT_FOUND],
    ['/api%2fv1%2fstats', NOT_FOUND],
    ['/api/v1/stats;a=b', NOT_FOUND],
    ['/api;x=1/v1/stats', NOT_FOUND],
    ['/api/v1/stats%20', NOT_FOUND],
    ['/api/v1/stats.json', NOT_FOUND],
    ['/api/v1/stats#part', NOT_FOUND],
    ['/API/v1/stats', NOT_FOUND],
    ['/api/v1/Stats', NOT_FOUND],
    ['/docs/../../package.json', NOT_FOUND],
    ['/docs/%2e%2e/%2e%2e/package.json', NOT_FOUND],
    ['/docs/..%2f..%2fpackage.json', NOT_FOUND],
    ['/docs/....//package.json', NOT_FOUND],
    ['/.env', NOT_FOUND],
    ['/api/v1/agents/cafe', NOT_FOUND],
    ['/api/v1/agents/caf%C3%89', NOT_FOUND],
    ['/api/v1/agents/caf%C3%A9%E2%80%8B', NOT_FOUND],
    ['/api/v1/agents/%E2%80%AE', NOT_FOUND],
    ['/api/v1/agents/..%2f', NOT_FOUND],
    ['/api/v1/provenance/0', NOT_FOUND],
    ['/api/v1/provenance/-1', NOT_FOUND],
    ['/api/v1/provenance/0x1', NOT_FOUND],
    ['/api/v1/provenance/1e0', NOT_FOUND],
    ['/api/v1/provenance/01', NOT_FOUND],
    ['/api/v1/provenance/%D9%A1', NOT_FOUND],
    ['/api/v1/provenance/99999999999999999999999', NOT_FOUND],
    ['/api/v1/provenance/1%20', NOT_FOUND],
    ["/api/v1/entities/'%20OR%201=1--", NOT_FOUND],
    ['/api/v1/entities/%F0%9F%98%80', NOT_FOUND],
    ['/api/v1/entities/constructor', NOT_FOUND],
    ['/api/v1/entities/__proto__', NOT_FOUND],
  ])('is refused: %s', async (target, expected) => {
    await expectRefusal(app, to(target), expected);
  });

  it.each<[string, number]>([
    ['/api/v1/stats', 200],
    ['/api/v1/stats?', 200],
    ['/api/v1/stats/', 200],
    ['http://x/api/v1/stats', 200],
    ['http://another.example/api/v1/stats', 200],
    ['HTTPS://x:1/api/v1/stats', 200],
    ['http://[::1', 302],
    ['http://x:99999999/api/v1/stats', 200],
    ['http://', 302],
    ['/api/v1/agents/caf%C3%A9', 200],
    ['/api/v1/agents/cafe%CC%81', 200],
    ['/api/v1/agents/%63af%c3%a9', 200],
    ['/api/v1/agents/..%252f', 200],
    ['/api/v1/provenance/1', 200],
  ])('is read: %s', async (target, status) => {
    expect((await exchange(app, to(target))).map(summaryOf)).toEqual([{ status }]);
  });

  it.each([
    'http://[::1/api/v1/stats',
    'http://x:99999999/api/v1/stats',
    'http://a%zz/api/v1/stats',
    'ftp://',
    'http:///nothing',
    '*',
    '/api/v1/%',
    '//x/docs',
  ])('says no more to a client without a key: %s', async (target) => {
    const answer = await expectRefusal(app, keylessTo(target), KEYLESS);
    expect(answer.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/);
  });
});

describe('A method', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
  });
  afterAll(() => app.close());

  it.each<[string, string, ExpectedAnswer]>([
    ['TRACE', '/api/v1/stats', NOT_ALLOWED],
    ['TRACE', '/nothing', NOT_FOUND],
    ['OPTIONS', '/api/v1/stats', NOT_ALLOWED],
    ['OPTIONS', '/nothing', NOT_FOUND],
    ['PURGE', '/api/v1/stats', NOT_ALLOWED],
    ['QUERY', '/api/v1/entities', NOT_ALLOWED],
    ['M-SEARCH', '/api/v1/entities', NOT_ALLOWED],
    ['DELETE', '/api/v1/entities', NOT_ALLOWED],
    ['DELETE', '/api/v1/agents/x', NOT_ALLOWED],
    ['DELETE', '/api/v1/policies/x', NOT_ALLOWED],
    ['PUT', '/api/v1/policies/x', NOT_ALLOWED],
    ['PATCH', '/api/v1/decisions/x', NOT_ALLOWED],
    ['POST', '/api/v1/audit', NOT_ALLOWED],
    ['DELETE', '/api/v1/audit', NOT_ALLOWED],
    ['DELETE', '/api/v1/provenance/1', NOT_ALLOWED],
    ['PUT', '/api/v1/provenance/1', NOT_ALLOWED],
    ['POST', '/', NOT_ALLOWED],
    ['POST', '/docs', NOT_ALLOWED],
    ['CONNECT', '/api/v1/stats', NO_HTTP],
    ['TRACK', '/api/v1/stats', NO_HTTP],
    ['get', '/api/v1/stats', NO_HTTP],
    ['G\xc9T', '/api/v1/stats', NO_HTTP],
    ['', '/api/v1/stats', NO_HTTP],
  ])('is refused: %s %s', async (method, path, expected) => {
    const answer = await expectRefusal(app, wire(`${method} ${path} HTTP/1.1`), expected);
    if (expected === NOT_ALLOWED) expect(answer.headers.get('allow')).not.toContain(method);
    expect(answer.text).not.toContain('X-API-Key');
  });
});
