import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent } from '../support/application/factories';
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

/** Characters of a token. */
const MAX_TOKEN_LENGTH = 8 * 1024;

/** The name of an actor is the issuer, `#`, and the subject. */
const MAX_ACTOR_LENGTH = 500;
const LONG_ISSUER = `https://${'x'.repeat(292)}`;

/** Each token differs from an accepted one in a single point. */
describe('A token', () => {
  let app: TestApp;
  let folder: string;
  /** Offers the keys of somebody who is not the issuer. */
  let stranger: Server;
  let strangersUrl: string;
  let visits = 0;
  const pairs = new Map<string, Pair>();
  const keys: Parts[] = [];

  beforeAll(async () => {
    for (const algorithm of ALGORITHMS) await list(algorithm, await newPair(algorithm));
    await list('short', await newPair('RS256', { modulusLength: 1024 }));
    await list('curve', await newPair('ES256', { namedCurve: 'P-384' }));
    await list('encryption', await newPair('ES256'), { use: 'enc' });
    await list('other algorithm', await newPair('RS256'), { alg: 'PS256' });
    await list('twice', await newPair('ES256'));
    await list('twice', await newPair('ES256'));
    keys.push(
      { kty: 'oct', k: 'c2VjcmV0', kid: 'secret' },
      { kty: 'EC', crv: 'P-256', x: 'AA', kid: 'broken' },
      { kid: 'none' },
    );
    folder = mkdtempSync(join(tmpdir(), 'token-faults-'));
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [null, 7, ...keys] }));
    const issuer = { issuer: ISSUER, audience: AUDIENCE, jwks: 'keys.json', agents: ['invoice-bot'], scopes: ['read'] };
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer, { ...issuer, issuer: LONG_ISSUER }]));
    stranger = createServer((_request, response) => {
      visits += 1;
      response.end(JSON.stringify({ keys }));
    }).listen(0, '127.0.0.1');
    await once(stranger, 'listening');
    strangersUrl = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}/keys`;
    app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    await createAgent(app, { name: 'invoice-bot' });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
    stranger.close();
    rmSync(folder, { recursive: true });
  });

  async function list(kid: string, pair: Pair, more: Parts = {}): Promise<void> {
    pairs.set(kid, pair);
    keys.push({ ...(await publicKey(pair, kid)), ...more });
  }

  function pairOf(kid: string): Pair {
    const pair = pairs.get(kid);
    if (pair === undefined) throw new Error(`There is no key "${kid}".`);
    return pair;
  }

  function token(algorithm: Algorithm, header: Parts = {}, payload = claims()): Promise<string> {
    return signedToken(algorithm, pairOf(algorithm), { kid: algorithm, ...header }, payload);
  }

  const statusOf = async (bearer: string | Promise<string>): Promise<number> =>
    (await sendAs(app, await bearer)).status;

  it('of at most 8 KiB is accepted, and a longer one is 401', async () => {
    // Three bytes of a claim are four characters of the token.
    const padded = (bytes: number): Promise<string> => token('EdDSA', {}, claims({ pad: 'x'.repeat(bytes) }));
    const free = MAX_TOKEN_LENGTH - (await padded(0)).length;
    const bytes = Math.floor((free * 3) / 4) - 3;
    const tokens = await Promise.all(Array.from({ length: 9 }, (_, more) => padded(bytes + more)));
    const lengths = tokens.map(({ length }) => length);
    expect(lengths.some((length) => length > MAX_TOKEN_LENGTH - 4 && length <= MAX_TOKEN_LENGTH)).toBe(true);
    expect(lengths.some((length) => length > MAX_TOKEN_LENGTH)).toBe(true);
    for (const bearer of tokens) expect(await statusOf(bearer)).toBe(bearer.length <= MAX_TOKEN_LENGTH ? 200 : 401);
  });

  it("that says where its key is, or brings it along, is held against the issuer's keys alone", async () => {
    const foreign = await newPair('ES256');
    const jwk = await publicKey(foreign, 'ES256');
    const headers: Parts[] = [{ jku: strangersUrl }, { x5u: strangersUrl }, { jwk }, { x5c: ['AAAA'] }];
    for (const header of headers) {
      for (const kid of ['ES256', 'unheard-of'])
        expect(await statusOf(signedToken('ES256', foreign, { kid, ...header }))).toBe(401);
      expect(await statusOf(token('ES256', header))).toBe(200);
    }
    expect(visits).toBe(0);
  });

  it('whose issuer and subject make a name of more than 500 characters is 401', async () => {
    const length = MAX_ACTOR_LENGTH - LONG_ISSUER.length - 1;
    const tokenFor = (sub: string): Promise<string> => token('ES256', {}, claims({ iss: LONG_ISSUER, sub }));
    // No agent has that name, so an accepted token is refused for its agent.
    expect([await statusOf(tokenFor('x'.repeat(length))), await statusOf(tokenFor('x'.repeat(length + 1)))]).toEqual([
      403, 401,
    ]);
    expect(await statusOf(tokenFor('\u{1f600}'.repeat(length)))).toBe(403);
  });

  it.each<[what: string, kid: string, algorithm: Algorithm]>([
    ['RSA with less than 2048 bits', 'short', 'RS256'],
    ['for encryption', 'encryption', 'ES256'],
    ['for another algorithm', 'other algorithm', 'RS256'],
    ['of which there are two of that name', 'twice', 'ES256'],
  ])('signed with a listed key %s is 401', async (_what, kid, algorithm) => {
    expect(await statusOf(signedToken(algorithm, pairOf(kid), { kid }))).toBe(401);
  });

  it('signed with a listed key of another curve is 401, whichever algorithm it names', async () => {
    for (const alg of ['ES256', 'ES384'])
      expect(await statusOf(signedToken('ES256', pairOf('curve'), { kid: 'curve', alg }))).toBe(401);
  });

  it.each([
    'none',
    'None',
    'HS256',
    'HS512',
    'RS512',
    'RS1',
    'ES384',
    'ES256K',
    'Ed25519',
    'rs256',
    '',
    null,
    7,
    ['RS256'],
  ])('that names the algorithm %j is 401', async (alg) => {
    for (const algorithm of ALGORITHMS) expect(await statusOf(token(algorithm, { alg }))).toBe(401);
  });

  it.each(ALGORITHMS)('signed with %s but naming another of the algorithms is 401', async (algorithm) => {
    for (const alg of ALGORITHMS.filter((other) => other !== algorithm))
      expect(await statusOf(token(algorithm, { alg }))).toBe(401);
  });

  it.each(['JWT', 'jwt', 'at+jwt', 'AT+JWT', undefined])('of the type %j is accepted', async (typ) => {
    expect(await statusOf(token('ES256', { typ }))).toBe(200);
  });

  it.each(['', 'JWS', 'id+jwt', 'dpop+jwt', 'logout+jwt', 'JWT ', null, 7, ['JWT'], {}])(
    'of the type %j is 401',
    async (typ) => {
      expect(await statusOf(token('ES256', { typ }))).toBe(401);
    },
  );

  it.each([[['b64']], [[]], ['x'], [null], [{}]])('with the critical members %j is 401', async (crit) => {
    expect(await statusOf(token('ES256', { crit }))).toBe(401);
  });

  it.each([7, null, ['ES256'], {}])('with %j for the name of its key is 401', async (kid) => {
    expect(await statusOf(token('ES256', { kid }))).toBe(401);
  });

  it('may be used half a minute before it begins and after it ends, and no longer', async () => {
    // Seconds that leave a slow machine time.
    expect(await statusOf(token('ES256', {}, claims({ nbf: secondsFromNow(25) })))).toBe(200);
    expect(await statusOf(token('ES256', {}, claims({ nbf: secondsFromNow(3_600) })))).toBe(401);
    expect(await statusOf(token('ES256', {}, claims({ nbf: secondsFromNow(-3_600) })))).toBe(200);
    expect(await statusOf(token('ES256', {}, claims({ exp: secondsFromNow(-1) })))).toBe(200);
    expect(await statusOf(token('ES256', {}, claims({ exp: secondsFromNow(-31) })))).toBe(401);
  });

  const AS_TEXT = String(secondsFromNow(600));
  it.each<[name: string, value: unknown]>([
    ...[undefined, null, AS_TEXT, true, [secondsFromNow(600)], {}].map((value): [string, unknown] => ['exp', value]),
    ...[null, '0', true, [0], {}].map((value): [string, unknown] => ['nbf', value]),
    ...[null, '', 7, ['invoice-bot'], {}].map((value): [string, unknown] => ['sub', value]),
    ...[null, '', [], 'Governance', 'governance ', { 0: AUDIENCE }, [[AUDIENCE]]].map((value): [string, unknown] => [
      'aud',
      value,
    ]),
    ...[null, '', `${ISSUER}/`, ISSUER.toUpperCase(), [ISSUER], {}, '__proto__'].map((value): [string, unknown] => [
      'iss',
      value,
    ]),
  ])('with %s %j is 401', async (name, value) => {
    expect(await statusOf(token('ES256', {}, claims({ [name]: value })))).toBe(401);
  });

  it('with a signature that is missing, short, long, empty of content, or in another form is 401', async () => {
    const [head, payload, signature = ''] = (await token('ES256')).split('.');
    const bytes = Buffer.from(signature, 'base64url');
    const [r, s] = [bytes.subarray(0, 32), bytes.subarray(32)];
    const integer = (part: Buffer): Buffer => Buffer.concat([Buffer.from([2, 33, 0]), part]);
    const der = Buffer.concat([Buffer.from([0x30, 70]), integer(r), integer(s)]);
    const others = [
      Buffer.alloc(0),
      bytes.subarray(0, 63),
      Buffer.concat([bytes, Buffer.alloc(1)]),
      Buffer.alloc(64),
      der,
    ];
    for (const other of others) expect(await statusOf(`${head}.${payload}.${other.toString('base64url')}`)).toBe(401);
    expect(await statusOf(`${head}.${payload}`)).toBe(401);
    expect(await statusOf(`${head}.${payload}.${signature}.`)).toBe(401);
    expect(await statusOf(`${head}.${payload}.${signature}.${signature}`)).toBe(401);
    expect(await statusOf(`${head}.${payload}.${signature}`)).toBe(200);
  });

  it.each<[what: string, part: string]>([
    ['a list', encoded([1])],
    ['null', encoded(null)],
    ['a text', encoded('x')],
    ['not JSON', Buffer.from('{').toString('base64url')],
    ['not UTF-8', Buffer.from([0xff, 0xfe]).toString('base64url')],
    ['not base64url', '+/=='],
    ['empty', ''],
  ])('of which a part is %s is 401', async (_what, part) => {
    const [head = '', payload = '', signature = ''] = (await token('ES256')).split('.');
    for (const parts of [
      [part, payload, signature],
      [head, part, signature],
      [head, payload, part],
    ])
      expect(await statusOf(parts.join('.'))).toBe(401);
  });
});
