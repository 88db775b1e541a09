import { createECDH, createHash, createPublicKey, verify } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalize } from 'json-canonicalize';
import { type Company, EXECUTIONS, approved, ask, company, requireApproval } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { type Answer, faults, isReplayed, type Parsed, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import { foreignConnection } from '../support/database/foreign-connection';
import { moveTime, restoreTime } from '../support/database/moved-time';
import { temporaryDatabase } from '../support/database/temporary-database';
import { decisionFileOf, verifyFile } from '../evidence/verified-file';

const PUBLIC_URL = 'https://governance.example.com';
const AUDIENCES = { PUBLIC_URL, PERMIT_AUDIENCES: 'bank, https://vault.example.com' };
const PERMIT = { permit: { audience: 'bank' } };
const SEND = { action: 'send', resourceType: 'mail', resourceId: 'mails/1', parameters: { to: 'ä', cc: [1.5, 1e21] } };

/** The claims of a permit, whose signature is by one of the published keys. */
async function claimsOf(app: TestApp, { body }: Answer): Promise<Parsed> {
  const [header = '', claims = '', signature = ''] = String(body.permit).split('.');
  const { keys } = (await send(app, 'GET', '/.well-known/jwks.json', { key: null })).body;
  const { kid, ...others } = parsed(header);
  expect(others).toEqual({ alg: 'ES256', typ: 'JWT' });
  const key = keys.find((listed: Parsed) => listed.kid === kid);
  const publicKey = createPublicKey({ key, format: 'jwk' });
  const signed = Buffer.from(`${header}.${claims}`);
  const keyOptions = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
  expect(verify('sha256', signed, keyOptions, Buffer.from(signature, 'base64url'))).toBe(true);
  return parsed(claims);
}

function parsed(part: string): Parsed {
  return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
}

describe('A permit', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ environment: AUDIENCES });
    const people = await company(app);
    await requireApproval(app, { executeWithin: 'PT30M', grant: { for: 'PT1H' } });
    await createPolicy(app, { name: 'sends', actions: ['send'] });
    return { app, people };
  });
  afterEach(restoreTime);

  const resume = (id: string, body?: object, headers = {}): Promise<Answer> =>
    send(stage.app, 'POST', `${EXECUTIONS}/${id}/resume`, { ...(body !== undefined && { body }), headers });
  const askFor = (body: object, headers = {}): Promise<Answer> =>
    ask(stage.app, stage.people.bot, { ...SEND, ...body }, headers);

  it('says what was authorised, for whom and until when, and its entry names the audience', async () => {
    const onBehalfOf = { subject: 'user:4711', roles: ['finance'] };
    const answer = await askFor({ ...PERMIT, onBehalfOf });
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'authorized' } });
    const { id, agentId, createdAt } = answer.body;
    const iat = Math.floor(Date.parse(createdAt) / 1_000);
    const hash = createHash('sha256').update(canonicalize(SEND.parameters)).digest('hex');
    expect(await claimsOf(stage.app, answer)).toEqual({
      iss: PUBLIC_URL,
      aud: 'bank',
      sub: `${agentId}:send:mail`,
      agent: agentId,
      jti: id,
      iat,
      exp: iat + 300,
      act: { sub: 'user:4711' },
      authorization_details: [
        {
          type: 'governed_action',
          actions: ['send'],
          resource_type: 'mail',
          identifier: 'mails/1',
          parameters_hash: hash,
        },
      ],
    });
    const [entry] = await auditOf(stage.app, id);
    expect(entry).toMatchObject({ action: 'execution.authorized', details: { audience: 'bank' } });
    expect((await send(stage.app, 'GET', `${EXECUTIONS}/${id}`)).body).not.toHaveProperty('permit');
  });

  it('has percent and colon encoded in its subject, and no actor where the agent acts without a principal', async () => {
    const name = 'odd';
    const { id } = await createAgent(stage.app, { name, capabilities: ['a:b%3A'] });
    await createPolicy(stage.app, { name: 'odd', actions: ['a:b%3A'] });
    const body = { action: 'a:b%3A', resourceType: 'x:y', resourceId: 'r', ...PERMIT };
    const answer = await send(stage.app, 'POST', `/api/v1/agents/${name}/execute`, { body });
    const claims = await claimsOf(stage.app, answer);
    expect(claims.sub).toBe(`${id}:a%3Ab%253A:x%3Ay`);
    expect(claims).not.toHaveProperty('act');
  });

  it('is given with a resume, from its time on, and with what a grant authorises', async () => {
    const { app, people } = stage;
    const answer = await ask(app, people.bot, { ...PERMIT, resourceId: 'orders/resumed' });
    expect(answer).toMatchObject({ status: 202 });
    expect(answer.body).not.toHaveProperty('permit');
    const body = { approverId: people.ann.id, grant: { for: 'PT1H' } };
    await send(app, 'POST', `/api/v1/decisions/${answer.body.decisionId}/approve`, { body });
    const again = await ask(app, people.bot, { ...PERMIT, resourceId: 'orders/resumed' });
    expect(again).toMatchObject({ status: 202, body: { outcome: 'approved' } });
    expect(again.body).not.toHaveProperty('permit');
    await moveTime(20_000);
    const key = { 'Idempotency-Key': 'resumed' };
    const resumed = await resume(answer.body.id, PERMIT, key);
    const { jti, iat, exp } = await claimsOf(app, resumed);
    const entry = (await auditOf(app, answer.body.id)).at(-1);
    expect(entry).toMatchObject({ action: 'execution.resumed', details: { audience: 'bank' } });
    expect([jti, iat, exp]).toEqual([
      answer.body.id,
      Math.floor(Date.parse(entry?.timestamp ?? '') / 1_000),
      Number(iat) + 300,
    ]);
    const replayed = await resume(answer.body.id, PERMIT, key);
    expect(isReplayed(replayed)).toBe(true);
    expect(await claimsOf(app, replayed)).toEqual(await claimsOf(app, resumed));
    const granted = await ask(app, people.bot, { ...PERMIT, resourceId: 'orders/resumed' });
    expect(granted.body.grantId).not.toBeNull();
    expect((await claimsOf(app, granted)).jti).toBe(granted.body.id);
    expect((await auditOf(app, granted.body.id))[0]?.details).toMatchObject({ audience: 'bank' });
  });

  it('comes with a replay, with the same claims, while it is valid, and is kept nowhere', async () => {
    const key = { 'Idempotency-Key': 'permit' };
    const first = await askFor(PERMIT, key);
    await moveTime(100_000);
    const replayed = await askFor(PERMIT, key);
    expect(isReplayed(replayed)).toBe(true);
    expect(await claimsOf(stage.app, replayed)).toEqual(await claimsOf(stage.app, first));
    await moveTime(400_000);
    const late = await askFor(PERMIT, key);
    const { permit, ...rest } = first.body;
    expect(late.body).toEqual(rest);
    const foreign = await foreignConnection(stage.app);
    const rows = await foreign.all('SELECT "answer" FROM "idempotency_keys"');
    await foreign.close();
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain('eyJ');
    expect(typeof permit).toBe('string');
    // The same key for another audience is another request.
    const other = await askFor({ permit: { audience: 'https://vault.example.com' } }, key);
    expect(other.status).toBe(409);
  });

  it('is not given while ledger time is ahead of the clock', async () => {
    await askFor(PERMIT);
    await moveTime(-120_000);
    const answer = await askFor(PERMIT);
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'authorized' } });
    expect(answer.body).not.toHaveProperty('permit');
  });

  it('is for one of the audiences, and each has its own', async () => {
    const vault = { permit: { audience: 'https://vault.example.com' } };
    const answer = await askFor(vault);
    expect((await claimsOf(stage.app, answer)).aud).toBe(vault.permit.audience);
    const before = await send(stage.app, 'GET', `${EXECUTIONS}?limit=1`);
    for (const refused of [
      await askFor({ permit: { audience: 'shop' } }),
      await resume('exe_x', { permit: { audience: 'shop' } }),
    ])
      expect([refused.status, Object.keys(faults(refused))]).toEqual([400, ['permit']]);
    for (const permit of [{}, { audience: '' }, { audience: 7 }, 'bank', ['bank'], { audience: 'bank', ttl: 1 }])
      expect([permit, (await askFor({ permit })).status]).toEqual([permit, 400]);
    expect((await send(stage.app, 'GET', `${EXECUTIONS}?limit=1`)).body.total).toBe(before.body.total);
  });

  it('is issued only on request, and never for a denied or observed action', async () => {
    const plain = await askFor({});
    expect(plain.body).not.toHaveProperty('permit');
    expect((await auditOf(stage.app, plain.body.id))[0]?.details).not.toHaveProperty('audience');
    const { bot } = stage.people;
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const free = await createAgent(stage.app, { name: 'free', capabilities: ['wander'] });
    await send(stage.app, 'PATCH', `/api/v1/agents/${free.id}`, { body: { observeUntil: until } });
    const body = { ...SEND, action: 'wander', ...PERMIT };
    const observed = await send(stage.app, 'POST', `/api/v1/agents/free/execute`, { body });
    expect(observed.body).toMatchObject({ outcome: 'authorized', observed: true });
    expect(observed.body).not.toHaveProperty('permit');
    const [entry] = await auditOf(stage.app, observed.body.id);
    expect(entry?.details).not.toHaveProperty('audience');
    const denied = await ask(stage.app, bot, { ...SEND, action: 'wander', ...PERMIT });
    expect(denied.status).toBe(403);
    expect(denied.text).not.toContain('eyJ');
  });

  it('can be read of the decision file, which the offline verifier decides again', async () => {
    const waiting = await approved(stage.app, stage.people, { resourceId: 'orders/file' });
    await resume(waiting.id, PERMIT);
    const answer = await askFor(PERMIT);
    for (const id of [waiting.id, answer.body.id]) {
      const { publicKey } = (await send(stage.app, 'GET', '/api/v1/provenance/checkpoint')).body;
      const file = await decisionFileOf(stage.app, { id });
      expect(file).toContain('"audience":"bank"');
      expect((await verifyFile(file, publicKey)).output).toMatch(/RECOMPUTED: authorized as recorded\n$/);
    }
  });

  it('is for the agent of the key alone', async () => {
    const { secret: key } = await issueKey(stage.app, { agentId: stage.people.bot.id, scopes: ['execute'] });
    const answer = await send(stage.app, 'POST', '/api/v1/agents/bot/execute', { body: { ...SEND, ...PERMIT }, key });
    expect((await claimsOf(stage.app, answer)).agent).toBe(stage.people.bot.id);
    const body = { ...SEND, action: 'a:b%3A', ...PERMIT };
    const other = await send(stage.app, 'POST', '/api/v1/agents/odd/execute', { body, key });
    expect(other).toMatchObject({ status: 403, body: { error: { reason: 'not_this_agent' } } });
  });
});

describe('The issuer of permits', () => {
  it('tells everybody its name and its keys, for five minutes', async () => {
    const previous = publicKey(5);
    const environment = {
      ...AUDIENCES,
      PERMIT_KEY: Buffer.alloc(32, 4).toString('base64'),
      PERMIT_KEY_PREVIOUS: `${previous.x}.${previous.y}`,
      PERMIT_TTL: 'PT1H',
    };
    const app = await createTestApp({ environment });
    const discovered = await send(app, 'GET', '/.well-known/openid-configuration', { key: null });
    expect(discovered.headers.get('cache-control')).toBe('public, max-age=300');
    expect(discovered.body).toEqual({
      issuer: PUBLIC_URL,
      jwks_uri: `${PUBLIC_URL}/.well-known/jwks.json`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    });
    const listed = await send(app, 'GET', '/.well-known/jwks.json', { key: null });
    expect(listed.headers.get('cache-control')).toBe('public, max-age=300');
    const keys = listed.body.keys;
    expect(keys).toMatchObject([publicKey(4), previous]);
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
      expect(key).toMatchObject({ alg: 'ES256', use: 'sig', kid: thumbprint(key) });
    }
    const { bot } = await allowing(app);
    const answer = await ask(app, bot, { ...SEND, ...PERMIT });
    const { iat, exp } = await claimsOf(app, answer);
    expect(exp).toBe(Number(iat) + 3_600);
    await chainIsValid(app);
    await app.close();
  });

  it('keeps the key that it makes in a file, also for its next start', async () => {
    const database = await temporaryDatabase();
    const environment = { ...AUDIENCES, ...database.environment };
    const kids: unknown[] = [];
    for (const _ of [1, 2]) {
      const app = await createTestApp({ environment });
      kids.push((await send(app, 'GET', '/.well-known/jwks.json')).body.keys[0].kid);
      await app.close();
    }
    expect(kids[0]).toBe(kids[1]);
    const [name = ''] = readdirSync(database.folder).filter((file) => file.endsWith('.permit-key'));
    const secret = Buffer.from(readFileSync(join(database.folder, name), 'utf8').trim(), 'base64');
    expect(secret).toHaveLength(32);
    await database.remove();
  });

  it('is not there, and gives no permits, unless both settings are made', async () => {
    for (const [missing, environment] of [
      ['PERMIT_AUDIENCES', {}],
      ['PERMIT_AUDIENCES', { PUBLIC_URL }],
      ['PUBLIC_URL', { PERMIT_AUDIENCES: 'bank' }],
    ] as const) {
      const app = await createTestApp({ environment });
      const { bot } = await allowing(app);
      for (const name of ['openid-configuration', 'jwks.json'])
        expect((await send(app, 'GET', `/.well-known/${name}`)).status).toBe(404);
      const refused = await ask(app, bot, { ...SEND, ...PERMIT });
      const message = `must be left out: the service makes no permits without ${missing}`;
      expect([refused.status, faults(refused)]).toEqual([400, { permit: message }]);
      await app.close();
    }
  });
});

async function allowing(app: TestApp): Promise<Pick<Company, 'bot'>> {
  await createPolicy(app, { name: 'sends', actions: ['send'] });
  return { bot: await createAgent(app, { name: 'bot', capabilities: ['send'] }) };
}

/** The public key of the private key whose bytes all have this value. */
function publicKey(byte: number): { readonly x: string; readonly y: string } {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(Buffer.alloc(32, byte));
  const point = pair.getPublicKey();
  return { x: point.toString('base64url', 1, 33), y: point.toString('base64url', 33) };
}

/** RFC 7638. */
function thumbprint({ x, y }: { readonly x: string; readonly y: string }): string {
  return createHash('sha256').update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`).digest('base64url');
}
