import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, propose } from '../support/application/factories';
import { AUDIENCE, ISSUER, newPair, type Pair, type Parts, publicKey, sendAs, signedToken } from './token-signing';

/** Milliseconds. */
const BETWEEN_FETCHES = 30_000;
const MAX_USE_MS = 24 * 3_600_000;
const MAX_AGE_MS = 10 * 60_000;
/** Milliseconds between two looks at the clock. */
const MAX_GAP_MS = 90_000;
const MEBIBYTE = 1024 * 1024;
/** More than the service reads ahead. */
const UNREAD_BYTES = 200_000;
const SOON_MS = 1_000;

/** Answers the service when it fetches the keys of the issuer. */
type Behaviour = (response: ServerResponse, listed: readonly Parts[]) => void;

const answers: Behaviour = (response, keys) => response.end(JSON.stringify({ keys }));

const FAILURES: readonly [what: string, behaviour: Behaviour][] = [
  ['refuses', (response) => response.writeHead(503).end()],
  [
    'answers in an encoding',
    (response, keys) => response.setHeader('Content-Encoding', 'gzip').end(gzipSync(JSON.stringify({ keys }))),
  ],
  ['redirects', (response) => response.writeHead(302, { Location: '/elsewhere' }).end()],
  [
    'answers with more than 1 MiB',
    (response, keys) => response.end(JSON.stringify({ keys, pad: 'x'.repeat(MEBIBYTE) })),
  ],
  ['answers with no key set', (response) => response.end('{"keys":{}}')],
  ['answers with no JSON', (response) => response.end('<html>')],
  ['breaks off', (response, keys) => response.write(JSON.stringify({ keys }).slice(0, -1), () => response.destroy())],
  ['never answers', () => undefined],
];

describe('The keys of an issuer', () => {
  let app: TestApp;
  let server: Server;
  let folder: string;
  let behaviour: Behaviour = answers;
  let listed: readonly Parts[] = [];
  let paths: (string | undefined)[] = [];
  /** Milliseconds by which the monotonic clock appears to be ahead. */
  let ahead = 0;
  let old: Pair;
  let young: Pair;

  beforeAll(async () => {
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + ahead);
    server = createServer(({ url }, response) => {
      paths.push(url);
      behaviour(response, listed);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
    folder = mkdtempSync(join(tmpdir(), 'token-keys-'));
    const issuer = { issuer: ISSUER, audience: AUDIENCE, jwks, agents: ['invoice-bot'], scopes: ['read'] };
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
  });
  beforeEach(async () => {
    [old, young] = [await newPair('ES256'), await newPair('ES256')];
    behaviour = answers;
    listed = [await publicKey(old, 'old')];
    paths = [];
    app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    await createAgent(app, { name: 'invoice-bot' });
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });
  afterAll(() => {
    jest.restoreAllMocks();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });

  const statusOf = async (bearer: string): Promise<number> => (await sendAs(app, bearer)).status;

  function signed(pair: Pair, kid: string): Promise<string> {
    return signedToken('ES256', pair, { kid });
  }

  /** Has the service fetch the keys again: it may do so for a key that it does not know. */
  async function fetchAgain(): Promise<void> {
    const before = paths.length;
    ahead += BETWEEN_FETCHES;
    expect(await statusOf(await signed(old, 'unheard-of'))).toBe(401);
    expect(paths.length).toBeGreaterThan(before);
  }

  it('are fetched again for a new one, which is accepted at once', async () => {
    const before = await signed(old, 'old');
    expect(await statusOf(before)).toBe(200);
    listed = [...listed, await publicKey(young, 'young')];
    ahead += BETWEEN_FETCHES;
    expect(await statusOf(await signed(young, 'young'))).toBe(200);
    expect(await statusOf(before)).toBe(200);
  });

  it('that are no longer listed are refused, also for tokens that were accepted before', async () => {
    const before = await signed(old, 'old');
    expect(await statusOf(before)).toBe(200);
    listed = [await publicKey(young, 'young')];
    await fetchAgain();
    expect(await statusOf(before)).toBe(401);
    expect(await statusOf(await signed(old, 'old'))).toBe(401);
    expect(await statusOf(await signed(young, 'young'))).toBe(200);
  });

  it('that are no longer listed end what their tokens have begun', async () => {
    const decision = await propose(app, (await createAgent(app, { name: 'asking-bot' })).id);
    const token = await signed(old, 'old');
    const waiting = sendAs(app, token, `/api/v1/decisions/${decision.id}?wait=60`);
    await sleep(500);
    listed = [await publicKey(young, 'young')];
    await fetchAgain();
    expect((await waiting).status).toBe(401);
  });

  it('are fetched again within ten minutes, although every token names a known one', async () => {
    await app.close();
    // Timers of half a minute or more run a thousand times as fast.
    const begin = setTimeout;
    const hurried = (work: () => void, after = 0): NodeJS.Timeout =>
      begin(work, after < MAX_GAP_MS / 3 ? after : after / 1_000);
    const timers = jest.spyOn(global, 'setTimeout').mockImplementation(hurried);
    app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    await createAgent(app, { name: 'invoice-bot' });
    const before = await signed(old, 'old');
    expect(await statusOf(before)).toBe(200);
    listed = [await publicKey(young, 'young')];
    ahead += MAX_AGE_MS - MAX_GAP_MS;
    while ((await statusOf(before)) !== 401) await sleep(20);
    expect(await statusOf(await signed(young, 'young'))).toBe(200);
    timers.mockRestore();
  });

  it('are told apart by their content: another one of the same name replaces the first', async () => {
    const before = await signed(old, 'old');
    expect(await statusOf(before)).toBe(200);
    listed = [await publicKey(young, 'old')];
    await fetchAgain();
    expect(await statusOf(before)).toBe(401);
    expect(await statusOf(await signed(young, 'old'))).toBe(200);
  });

  it('that are listed no more at all leave no token valid', async () => {
    const before = await signed(old, 'old');
    expect(await statusOf(before)).toBe(200);
    listed = [];
    await fetchAgain();
    expect(await statusOf(before)).toBe(401);
  });

  it.each(FAILURES)('stay valid while the issuer %s, for a day at most', async (_what, failing) => {
    const before = await signed(old, 'old');
    expect(await statusOf(before)).toBe(200);
    listed = [await publicKey(young, 'young')];
    behaviour = failing;
    await fetchAgain();
    expect(await statusOf(before)).toBe(200);
    expect(await statusOf(await signed(old, 'old'))).toBe(200);
    ahead += MAX_USE_MS;
    expect(await statusOf(before)).toBe(401);
    behaviour = answers;
    ahead += BETWEEN_FETCHES;
    expect(await statusOf(await signed(young, 'young'))).toBe(200);
    expect(await statusOf(before)).toBe(401);
    expect(new Set(paths)).toEqual(new Set(['/keys']));
  });

  // Left unread, it would end the service once its connection ends.
  it('are not waited for in an answer that refuses: its connection ends at once', async () => {
    const ended = new Promise((resolve) => {
      behaviour = (response) => {
        response.writeHead(503).write('x'.repeat(UNREAD_BYTES));
        response.once('close', resolve);
      };
    });
    await fetchAgain();
    expect(await Promise.race([ended.then(() => 'ended'), sleep(SOON_MS)])).toBe('ended');
  });

  it('that were never reached are fetched again, and tokens are 503 until then', async () => {
    await app.close();
    behaviour = (response) => response.writeHead(500).end();
    app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    await createAgent(app, { name: 'invoice-bot' });
    const bearer = await signed(old, 'old');
    const { status, headers, body } = await sendAs(app, bearer);
    expect([status, body.error.code, headers.has('retry-after')]).toEqual([503, 'UNAVAILABLE', true]);
    behaviour = answers;
    ahead += BETWEEN_FETCHES;
    expect(await statusOf(bearer)).toBe(200);
  });
});
