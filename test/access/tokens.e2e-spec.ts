import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '../../src/core/config/read-configuration';
import { createApp } from '../../src/create-app';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, propose } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { signedTokens } from '../support/application/signed-tokens';
import {
  type Algorithm,
  ALGORITHMS,
  AUDIENCE,
  claims,
  encoded,
  ISSUER,
  newPair,
  type Pair,
  type Parts,
  publicKey,
  secondsFromNow,
  sendAs,
  signedToken,
} from './token-signing';

describe('Tokens of an issuer', () => {
  const pairs = new Map<Algorithm, Pair>();
  let keys: Parts[];
  let fetches = 0;
  let server: Server;
  let folder: string;
  let path: string;
  let app: TestApp;
  let agentId: string;
  let tokensOfJose: Readonly<Record<string, string>>;

  beforeAll(async () => {
    for (const algorithm of ALGORITHMS) pairs.set(algorithm, await newPair(algorithm));
    const {
      tokens: [tokens = {}],
      keys: keysOfJose,
    } = await signedTokens(claims({ iss: `${ISSUER}/jose`, aud: [AUDIENCE, 'b'] }));
    tokensOfJose = tokens;
    keys = await Promise.all(ALGORITHMS.map((algorithm) => publicKey(pairOf(algorithm), algorithm)));
    server = createServer((_request, response) => {
      fetches += 1;
      response.end(JSON.stringify({ keys }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    folder = mkdtempSync(join(tmpdir(), 'issuers-'));
    path = join(folder, 'issuers.json');
    writeFileSync(join(folder, 'jose.json'), JSON.stringify({ keys: keysOfJose }));
    const jwks = `http://127.0.0.1:${port}/jwks`;
    const issuer = { issuer: ISSUER, audience: AUDIENCE, jwks, agents: ['role:staff', 'invoice-bot'] };
    const narrowing = { ...issuer, issuer: `${ISSUER}/narrow`, scopesClaim: 'scope', agentClaim: 'agent' };
    writeFileSync(
      path,
      JSON.stringify([
        { ...issuer, scopes: ['read', 'propose', 'execute'] },
        { ...narrowing, scopes: ['read', 'propose'] },
        { ...narrowing, issuer: `${ISSUER}/many`, scopes: ['execute', 'propose'], scopesClaim: undefined },
        { ...issuer, issuer: `${ISSUER}/jose`, jwks: 'jose.json', scopes: ['read'] },
      ]),
    );
    app = await createTestApp({ environment: { TOKEN_ISSUERS: path } });
    await createPolicy(app);
    agentId = (await createAgent(app, { name: 'invoice-bot', capabilities: ['look'] })).id;
    await createAgent(app, { name: 'stranger' });
    await createAgent(app, { name: 'alice', kind: 'human', roles: ['staff'] });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });

  function pairOf(algorithm: Algorithm): Pair {
    const pair = pairs.get(algorithm);
    if (pair === undefined) throw new Error(`There is no pair of keys for ${algorithm}.`);
    return pair;
  }

  function token(algorithm: Algorithm, payload: Parts = claims(), header: Parts = {}): Promise<string> {
    return signedToken(algorithm, pairOf(algorithm), { kid: algorithm, ...header }, payload);
  }

  function ask(bearer: string, path?: string, method?: string, body?: object): Promise<Answer> {
    return sendAs(app, bearer, path, method, body);
  }

  it.each(ALGORITHMS)('signed with %s are accepted', async (algorithm) => {
    const { status, body } = await ask(await token(algorithm));
    expect(status).toBe(200);
    expect(body).toMatchObject({ actor: { type: 'token', id: `${ISSUER}#invoice-bot` }, agentId });
    expect(body.scopes).toEqual(['read', 'propose', 'execute']);
  });

  it.each(ALGORITHMS)(
    'signed with %s by another library are accepted, and refused if they were changed',
    async (algorithm) => {
      const { [algorithm]: bearer = '' } = tokensOfJose;
      expect(await ask(bearer)).toMatchObject({ status: 200, body: { agentId } });
      const [head, payload, signature] = bearer.split('.');
      const changed = Buffer.from(payload ?? '', 'base64url')
        .toString()
        .replace('invoice-bot', 'alice');
      const forged = Buffer.from(changed).toString('base64url');
      expect((await ask(`${head}.${forged}.${signature}`)).status).toBe(401);
    },
  );

  it('act as their agent, and are its actor', async () => {
    const look = { action: 'look', resourceType: 'a', resourceId: 'b' };
    const bearer = await token('ES256', claims({ sub: agentId }));
    const { status, body } = await ask(bearer, '/api/v1/agents/invoice-bot/execute', 'POST', look);
    expect(status).toBe(200);
    expect(await auditOf(app, body.id)).toMatchObject([{ actor: { type: 'token', id: `${ISSUER}#${agentId}` } }]);
    expect((await ask(bearer, '/api/v1/agents/stranger/execute', 'POST', look)).status).toBe(403);
    expect((await ask(await token('ES256', claims({ sub: 'alice' })))).status).toBe(200);
  });

  it('never have eight of their characters in a row shown in a request id', async () => {
    const bearer = await token('ES256');
    const idOf = async (requestId: string): Promise<string | null> => {
      const headers = { Authorization: `Bearer ${bearer}`, 'X-Request-Id': requestId };
      const { status, headers: responseHeaders } = await send(app, 'GET', '/api/v1/me', { key: null, headers });
      expect(status).toBe(200);
      return responseHeaders.get('x-request-id');
    };
    for (const start of [0, 40, bearer.length - 8]) {
      const part = bearer.slice(start, start + 8);
      expect(await idOf(`.${part}.`)).not.toContain(part);
    }
    expect(await idOf(`.${bearer.slice(40, 47)}.`)).toBe(`.${bearer.slice(40, 47)}.`);
  });

  it('end a waiting request when they expire, although new requests are accepted for a little longer', async () => {
    const { id } = await propose(app, agentId);
    const bearer = await token('ES256', claims({ exp: secondsFromNow(1) }));
    expect((await ask(bearer, `/api/v1/decisions/${id}?wait=60`)).status).toBe(401);
    expect((await ask(bearer)).status).toBe(200);
  });

  it('that expire later than a timestamp can express are accepted, and do not end', async () => {
    const { id } = await propose(app, agentId);
    const answers = [253_402_300_800, 8.64e12, 8.7e12, Number.MAX_VALUE].map(async (exp) => {
      const bearer = await token('ES256', claims({ exp }));
      const { status, body } = await ask(bearer);
      const waited = await ask(bearer, `/api/v1/decisions/${id}?wait=1`);
      return [status, body.expiresAt, waited.status];
    });
    for (const answer of await Promise.all(answers)) expect(answer).toEqual([200, '9999-12-31T23:59:59.000Z', 200]);
  });

  it('of agents that the issuer does not speak for are refused, on record', async () => {
    for (const sub of ['stranger', 'nobody']) {
      const answer = await ask(await token('EdDSA', claims({ sub })));
      expect([answer.status, answer.body.error.reason]).toEqual([403, 'agent_unknown']);
    }
    expect(await auditOf(app, encodeURIComponent(`${ISSUER}#nobody`))).toMatchObject([
      { action: 'access.denied', subjectType: 'token', agentId: null, reason: 'agent_unknown' },
    ]);
  });

  it('have the scopes of the issuer that their claim names', async () => {
    const narrow = (more: Parts): Promise<string> =>
      token('ES256', claims({ iss: `${ISSUER}/narrow`, sub: 'client-7', agent: 'invoice-bot', ...more }));
    expect((await ask(await narrow({ scope: 'read admin other' }))).body.scopes).toEqual(['read']);
    expect((await ask(await narrow({ scope: ['propose', 'read'] }))).body.scopes).toEqual(['read', 'propose']);
    expect((await ask(await narrow({}))).body.scopes).toEqual([]);
  });

  /** A token of an issuer whose subjects speak for the agent that another claim names. */
  function many(agent: unknown): Promise<string> {
    return token('ES256', claims({ iss: `${ISSUER}/many`, sub: 'client-7', agent }));
  }

  it.each(['', 'invoice-bot\0', '\ud800', 'x'.repeat(3_000), 7, ['invoice-bot'], null])(
    'whose claim names no agent are refused, whatever it holds instead: %j',
    async (agent) => {
      // Among others, since lookups share statements.
      const sent = ['invoice-bot', agent, 'alice'].map(async (name) => ask(await many(name)));
      const answers = await Promise.all(sent);
      expect(answers.map(({ status }) => status)).toEqual([200, 403, 200]);
      expect(answers[1]?.body.error.reason).toBe('agent_unknown');
    },
  );

  it('of one subject that speaks for several agents share no idempotency key', async () => {
    const keyed = async (agent: string, path: string, body: object, key = 'shared'): Promise<Answer> => {
      const headers = { Authorization: `Bearer ${await many(agent)}`, 'Idempotency-Key': key };
      return send(app, 'POST', `/api/v1/${path}`, { key: null, headers, body });
    };
    const proposal = { type: 'shared', title: 'x', riskLevel: 'low' };
    const proposals = [await keyed('invoice-bot', 'decisions', proposal), await keyed('alice', 'decisions', proposal)];
    expect(proposals.map(({ status }) => status)).toEqual([201, 201]);
    expect(proposals[0]?.body.proposedBy).not.toBe(proposals[1]?.body.proposedBy);
    for (const [action, status] of [
      ['look', 200],
      ['unable', 403],
    ] as const) {
      const [path, body] = ['agents/invoice-bot/execute', { action, resourceType: 'a', resourceId: 'b' }];
      expect((await keyed('invoice-bot', path, body, action)).status).toBe(status);
      expect((await keyed('alice', path, body, action)).body.error.reason).toBe('not_this_agent');
    }
  });

  it.each<[string, Parts, Parts?]>([
    ['another issuer', { iss: 'https://other.example.org' }],
    ['another audience', { aud: ['x'] }],
    ['no audience', { aud: undefined }],
    ['no end', { exp: undefined }],
    ['an end that is over', { exp: secondsFromNow(-31) }],
    ['a beginning ahead', { nbf: secondsFromNow(3_600) }],
    ['no subject', { sub: undefined }],
    ['a subject with a control character', { sub: 'a\n' }],
    ['a long subject', { sub: 'x'.repeat(256) }],
    ['critical members', {}, { crit: ['x'], x: 1 }],
    ['another type', {}, { typ: 'secevent+jwt' }],
    ['another algorithm than that of the key', {}, { alg: 'RS256' }],
    ['no algorithm', {}, { alg: 'none' }],
    ['a key that nobody knows', {}, { kid: 'unheard-of' }],
    ['no name of a key, where several fit', {}, { alg: 'RS256', kid: undefined }],
  ])('with %s are 401', async (_what, more, header = {}) => {
    expect((await ask(await token('ES256', claims(more), header))).status).toBe(401);
  });

  it('that were changed, are not signed, or are signed with the public key as a secret, are 401', async () => {
    const [head, payload, signature] = (await token('RS256')).split('.');
    expect((await ask(`${head}.${encoded(claims({ sub: 'alice' }))}.${signature}`)).status).toBe(401);
    expect((await ask(`${encoded({ alg: 'none' })}.${payload}.`)).status).toBe(401);
    const hmac = encoded({ alg: 'HS256', kid: 'RS256' });
    const secret = JSON.stringify(keys[0]);
    const forged = createHmac('sha256', secret).update(`${hmac}.${payload}`).digest('base64url');
    expect((await ask(`${hmac}.${payload}.${forged}`)).status).toBe(401);
  });

  it('without the name of a key are accepted if exactly one key fits', async () => {
    expect((await ask(await token('ES256', claims(), { kid: undefined }))).status).toBe(200);
    expect((await ask(await token('EdDSA', claims(), { kid: undefined, typ: 'at+jwt' }))).status).toBe(200);
  });

  it('are refused in another spelling of the same bytes', async () => {
    const bearer = await token('ES256');
    // The last character of 64 encoded bytes has four bits that are ignored.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const next = alphabet[alphabet.indexOf(bearer.slice(-1)) + 1] ?? '';
    const bytes = (text: string): Buffer => Buffer.from(text.split('.').at(-1) ?? '', 'base64url');
    const other = `${bearer.slice(0, -1)}${next}`;
    expect(bytes(other)).toEqual(bytes(bearer));
    expect((await ask(other)).status).toBe(401);
    expect((await ask(bearer)).status).toBe(200);
  });

  it('are refused in X-API-Key', async () => {
    expect((await send(app, 'GET', '/api/v1/me', { key: await token('ES256') })).status).toBe(401);
  });

  it('of a suspended agent give no access', async () => {
    const { id } = await createAgent(app, { name: 'bob', roles: ['staff'] });
    const bearer = await token('ES256', claims({ sub: 'bob' }));
    expect((await ask(bearer)).status).toBe(200);
    await send(app, 'POST', `/api/v1/agents/${id}/suspend`);
    expect((await ask(bearer)).body.error.reason).toBe('agent_suspended');
  });

  it('cannot make the service fetch keys more often than allowed, with any name of a key', async () => {
    const before = fetches;
    const names = Array.from({ length: 20 }, (_, index) => `unknown-${index}`);
    await Promise.all(names.map(async (kid) => ask(await token('ES256', claims(), { kid }))));
    expect(fetches - before).toBeLessThanOrEqual(2);
  });
});

describe('An issuer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'issuers-'));
  const sound = { issuer: ISSUER, audience: 'a', jwks: 'https://x.example.org', agents: ['*'], scopes: ['read'] };
  afterAll(() => rmSync(folder, { recursive: true }));

  it('that was never reached has its tokens answered with 503', async () => {
    const path = join(folder, 'unreachable.json');
    // Editors of Windows write a byte order mark.
    writeFileSync(path, `\uFEFF${JSON.stringify([{ ...sound, jwks: 'http://127.0.0.1:1/jwks' }])}`);
    const app = await createTestApp({ environment: { TOKEN_ISSUERS: path } });
    const claims = { iss: ISSUER, aud: 'a', sub: 'x', exp: secondsFromNow(600) };
    const Authorization = `Bearer ${encoded({ alg: 'ES256' })}.${encoded(claims)}.AAAA`;
    expect((await send(app, 'GET', '/api/v1/me', { key: null, headers: { Authorization } })).status).toBe(503);
    await app.close();
  });

  it.each<[string, unknown]>([
    ['no list', {}],
    ['no issuer', []],
    ['an issuer without agents', [{ ...sound, agents: undefined }]],
    ['the scope admin', [{ ...sound, scopes: ['admin'] }]],
    ['keys over http from elsewhere', [{ ...sound, jwks: 'http://x.example.org' }]],
    ['an unknown member', [{ ...sound, agentPattern: '*' }]],
    ['an issuer twice', [sound, sound]],
    ['an issuer with a "#", which begins the subject in the name of an actor', [{ ...sound, issuer: `${ISSUER}#a` }]],
    ['a name given twice', JSON.stringify([sound]).replace('"audience":', '"audience":"b","audience":')],
  ])('is refused at the start with %s', async (_what, content) => {
    const path = join(folder, 'faulty.json');
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    const environment = { NODE_ENV: 'test', LOG_LEVEL: 'silent', TOKEN_ISSUERS: path };
    await expect(createApp({ environment })).rejects.toThrow(ConfigurationError);
  });
});
