import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, issueKey } from '../../support/application/factories';
import { type Answer, send } from '../../support/application/send';
import { signedTokens } from '../../support/application/signed-tokens';

const LIMIT = 30;
/** Milliseconds: far enough ahead that even a busy machine accepts the key in time. */
const SOON = 2_000;
const ISSUER = 'https://login.example.org';

/** While the strangers of an address have used up their limit, its callers go on. */
describe('The rate limit of callers', () => {
  let app: TestApp;
  let folder: string;
  let agentId: string;
  /** Tokens of the same agent. */
  let tokens: readonly string[];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'callers-rate-limit-'));
    const claims = { iss: ISSUER, aud: 'governance', sub: 'bot' };
    const { keys, tokens: signed } = await signedTokens(claims, { ...claims, jti: '2' });
    tokens = signed.map(({ EdDSA = '' }) => EdDSA);
    const issuer = { issuer: ISSUER, audience: 'governance', jwks: 'keys.json', agents: ['bot'], scopes: ['read'] };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys }));
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
    const environment = {
      RATE_LIMIT: String(LIMIT),
      RATE_WINDOW: '2147483647',
      TOKEN_ISSUERS: join(folder, 'issuers.json'),
    };
    app = await createTestApp({ environment });
    agentId = (await createAgent(app, { name: 'bot' })).id;
  });
  afterEach(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  const withKey = (key: string): Promise<Answer> => send(app, 'GET', '/api/v1/me', { key });
  const withBearer = (secret: string): Promise<Answer> =>
    send(app, 'GET', '/api/v1/me', { key: null, headers: { Authorization: `Bearer ${secret}` } });

  async function overrunByStrangers(): Promise<void> {
    for (let count = 0; count < LIMIT; count += 1) expect((await withKey('wrong')).status).toBe(401);
    expect((await withKey('wrong')).status).toBe(429);
  }

  function remaining({ status, headers }: Answer): [number, number] {
    return [status, Number(headers.get('x-ratelimit-remaining'))];
  }

  it('is one for all their keys, in either header, and strangers do not use it up', async () => {
    const [free, bound] = [await issueKey(app), await issueKey(app, { agentId, scopes: ['execute'] })];
    await overrunByStrangers();
    const [, before] = remaining(await withKey(free.secret));
    const answers = [await withBearer(free.secret), await withKey(bound.secret), await withBearer(bound.secret)];
    expect(answers.map(remaining)).toEqual([1, 2, 3].map((more) => [200, before - more]));
    for (let left = before - 3; left > 0; left -= 1) expect((await withKey(free.secret)).status).toBe(200);
    expect((await withKey(free.secret)).status).toBe(429);
    expect((await withBearer(bound.secret)).status).toBe(429);
  });

  it('has another count for lists of stops: who runs what an agent began must learn that it is stopped', async () => {
    const bound = await issueKey(app, { agentId, scopes: ['execute'] });
    for (let left = remaining(await withKey(bound.secret))[1]; left > 0; left -= 1) await withKey(bound.secret);
    expect((await withKey(bound.secret)).status).toBe(429);
    expect(remaining(await send(app, 'GET', '/api/v1/stops', { key: bound.secret }))).toEqual([200, LIMIT - 1]);
  });

  it('is one for each key, and for each subject of tokens, with RATE_LIMIT_PER_KEY', async () => {
    const environment = {
      ...{ RATE_LIMIT: '5', RATE_LIMIT_PER_KEY: '3', RATE_WINDOW: '2147483647' },
      TOKEN_ISSUERS: join(folder, 'issuers.json'),
    };
    const limited = await createTestApp({ environment });
    const ask = (credential: string): Promise<Answer> =>
      send(limited, 'GET', '/api/v1/me', { key: null, headers: { Authorization: `Bearer ${credential}` } });
    await createAgent(limited, { name: 'bot' });
    const keys = [(await issueKey(limited)).secret, ...tokens];
    const [key = '', token = '', sameSubject = ''] = keys;
    for (const credential of [key, token, key, token, key, sameSubject])
      expect((await ask(credential)).status).toBe(200);
    const { status, body } = await ask(key);
    expect([status, body.error.message]).toEqual([429, expect.stringContaining('(RATE_LIMIT_PER_KEY)')]);
    expect((await ask(sameSubject)).status).toBe(429);
    // The operator has made two requests.
    expect(remaining(await send(limited, 'GET', '/api/v1/me'))).toEqual([200, 0]);
    for (let count = 0; count < 5; count += 1) expect(remaining(await ask('wrong'))).toEqual([401, 4 - count]);
    expect((await ask('wrong')).body.error.message).toContain('(RATE_LIMIT)');
    await limited.close();
  });

  it('is that of strangers for a key that is wrong, revoked or expired', async () => {
    const key = await issueKey(app);
    const short = await issueKey(app, { expiresAt: new Date(Date.now() + SOON).toISOString() });
    const other = key.secret.replace(/.$/, key.secret.endsWith('A') ? 'E' : 'A');
    await send(app, 'POST', `/api/v1/api-keys/${key.id}/revoke`);
    await new Promise((resolve) => setTimeout(resolve, SOON));
    const strange = [key.secret, other, short.secret];
    const answers = [];
    for (const secret of strange) answers.push(await withKey(secret), await withBearer(secret));
    expect(answers.map(remaining)).toEqual(answers.map((_, index) => [401, LIMIT - 1 - index]));
  });

  it('counts a refused caller as one: it has a valid key', async () => {
    const bound = await issueKey(app, { agentId });
    await send(app, 'POST', `/api/v1/agents/${agentId}/suspend`);
    await overrunByStrangers();
    expect((await withKey(bound.secret)).status).toBe(403);
    expect((await send(app, 'GET', '/api/v1/audit', { key: (await issueKey(app)).secret })).status).toBe(403);
  });

  it('holds for a token that was verified before; another one is looked at only within the limit of strangers', async () => {
    const [early = '', late = ''] = tokens;
    expect((await withBearer(early)).status).toBe(200);
    await overrunByStrangers();
    const [, before] = remaining(await withBearer(early));
    expect(remaining(await withBearer(early))).toEqual([200, before - 1]);
    expect((await withBearer(late)).status).toBe(429);
    expect(remaining(await withBearer(early))).toEqual([200, before - 2]);
  });
});
