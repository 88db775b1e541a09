import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { get, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../src/ledger/database/database';
import { RecordReader } from '../../src/ledger/reading/record-reader';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { onPostgres } from '../support/database/database-kind';
import { EventReader } from '../support/application/event-reader';
import { chainIsValid, createAgent, createEntity, issueKey, propose } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { type Answer, send } from '../support/application/send';
import { signedTokens } from '../support/application/signed-tokens';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const KEYS = '/api/v1/api-keys';
const DECISIONS = '/api/v1/decisions';
const ISSUER = 'https://login.example.org';
/** Seconds until the token of these tests expires. It is accepted for new requests a little longer. */
const TOKEN_LIFE = 5;
const LONG_LIFE = 3_600;
/** There a test can lock a table, so that a read of it is in progress for as long as needed. */
const itOnPostgres = onPostgres ? it : it.skip;

/** The work of a caller ends with its key, or when its agent is suspended, even if another process ends them. */
describe('The end of a caller', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  /** Another process, if the database allows one. */
  let other: TestApp;
  let folder: string;
  let token: string;
  /** Accepted as long as its agent has a role. */
  let tokenByRole: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'caller-end-'));
    const now = Math.floor(Date.now() / 1000);
    const common = { iss: ISSUER, aud: 'governance' };
    const { keys, tokens } = await signedTokens(
      { ...common, sub: 'follower', exp: now + TOKEN_LIFE },
      { ...common, sub: 'auditor', exp: now + LONG_LIFE },
    );
    [token, tokenByRole] = [tokens[0]?.['EdDSA'] ?? '', tokens[1]?.['EdDSA'] ?? ''];
    const issuer = {
      issuer: ISSUER,
      audience: 'governance',
      jwks: 'keys.json',
      agents: ['follower', 'role:audit'],
      scopes: ['audit', 'read'],
    };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys }));
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
    database = await temporaryDatabase();
    const environment = { ...database.environment, TOKEN_ISSUERS: join(folder, 'issuers.json') };
    app = await createTestApp({ environment });
    other = onPostgres ? await createTestApp({ environment }) : app;
  });
  afterAll(async () => {
    await chainIsValid(app);
    if (other !== app) await other.close();
    await app.close();
    await database.remove();
    rmSync(folder, { recursive: true });
  });

  // First, before the token has expired.
  it('closes its streams of events when its key is revoked elsewhere, or its token ends', async () => {
    await createAgent(app, { name: 'follower' });
    const { id, secret } = await issueKey(app, { scopes: ['audit'] });
    const [byKey, byToken, byAnother] = [
      await EventReader.open(app, '', { 'X-API-Key': secret }),
      await EventReader.open(app, '', { Authorization: `Bearer ${token}` }),
      await EventReader.open(app),
    ];
    expect([byKey, byToken, byAnother].map(({ answer }) => answer.statusCode)).toEqual([200, 200, 200]);
    await send(other, 'POST', `${KEYS}/${id}/revoke`);
    await byKey.untilOver();
    await byToken.untilOver();
    expect(byAnother.isOver).toBe(false);
    byAnother.close();
  });

  let names = 0;
  async function waiting(members: object = {}): Promise<{ agentId: string; keyId: string; answer: Promise<Answer> }> {
    names += 1;
    const { id: agentId } = await createAgent(app, { name: `agent ${names}` });
    const decision = await propose(app, agentId);
    const { id: keyId, secret: key } = await issueKey(app, { agentId, ...members });
    return { agentId, keyId, answer: send(app, 'GET', `${DECISIONS}/${decision.id}?wait=60`, { key }) };
  }

  it('ends its waits when its key is revoked', async () => {
    const { keyId, answer } = await waiting();
    await send(other, 'POST', `${KEYS}/${keyId}/revoke`);
    expect((await answer).status).toBe(401);
  });

  it('ends its waits when its key expires', async () => {
    const { answer } = await waiting({ expiresAt: new Date(Date.now() + 3_000).toISOString() });
    expect((await answer).status).toBe(401);
  });

  it('ends its waits when its agent is suspended', async () => {
    const { agentId, answer } = await waiting();
    await send(other, 'POST', `/api/v1/agents/${agentId}/suspend`);
    const { status, body } = await answer;
    expect([status, body.error.reason]).toEqual([403, 'agent_suspended']);
  });

  it('leaves the waits of others', async () => {
    const [ended, others] = [await waiting(), await waiting()];
    await send(other, 'POST', `${KEYS}/${ended.keyId}/revoke`);
    expect((await ended.answer).status).toBe(401);
    const decisions = await send(app, 'GET', `${DECISIONS}?proposedBy=${others.agentId}`);
    await send(other, 'POST', `${DECISIONS}/${decisions.body.data[0].id}/reject`);
    expect(await others.answer).toMatchObject({ status: 200, body: { status: 'rejected' } });
  });

  it('closes its streams and ends its waits when its agent loses the role by which its token is accepted', async () => {
    const roles = ['audit', 'other'];
    const [auditor, proposer] = [
      await createAgent(app, { name: 'auditor', roles }),
      await createAgent(app, { name: 'proposer' }),
    ];
    const decision = await propose(app, proposer.id);
    const headers = { Authorization: `Bearer ${tokenByRole}` };
    const stream = await EventReader.open(app, '', headers);
    expect(stream.answer.statusCode).toBe(200);
    const wait = send(app, 'GET', `${DECISIONS}/${decision.id}?wait=60`, { key: null, headers });
    const roleChange = (changed: string[]): Promise<Answer> =>
      send(other, 'PATCH', `/api/v1/agents/${auditor.id}`, { body: { roles: changed } });
    await roleChange(['audit']);
    // Twice the time within which an end is noticed.
    await sleep(2_000);
    expect(stream.isOver).toBe(false);
    await roleChange(['other']);
    await stream.untilOver();
    const { status, body } = await wait;
    expect([status, body.error.reason]).toEqual([403, 'agent_unknown']);
    await roleChange(roles);
    expect((await send(app, 'GET', '/api/v1/me', { key: null, headers })).status).toBe(200);
  });

  it.each(['/api/v1/policies/evaluate', '/access/v1/evaluation', '/api/v1/policies/plan', '/api/v1/provenance/verify'])(
    'refuses its request to %s whose body was on its way',
    async (path) => {
      const { id: agentId } = await createAgent(app, { name: `asked at ${path.replaceAll('/', ' ').trim()}` });
      const question = { agent: agentId, action: 'read', resourceType: 'document', resourceId: 'a' };
      const evaluation = {
        subject: { type: 'agent', id: agentId },
        action: { name: 'read' },
        resource: { type: 'document', id: 'a' },
      };
      const bodies: Readonly<Record<string, object>> = {
        evaluate: question,
        evaluation,
        plan: { policies: [] },
        verify: {},
      };
      const body = JSON.stringify(bodies[path.slice(path.lastIndexOf('/') + 1)]);
      const { id, secret } = await issueKey(app, { scopes: ['admin'] });
      const headers = { 'X-API-Key': secret, 'Content-Type': 'application/json', 'Content-Length': body.length };
      const upload = request(`${app.url}${path}`, { method: 'POST', headers, agent: false });
      const response = once(upload, 'response') as Promise<[IncomingMessage]>;
      await new Promise<void>((sent) => upload.write(body.slice(0, 1), () => sent()));
      while ((await send(app, 'GET', '/api/v1/me', { key: secret })).status !== 200) await sleep(10);
      await send(app, 'POST', `${KEYS}/${id}/revoke`);
      upload.end(body.slice(1));
      const [answer] = await response;
      answer.resume();
      expect(answer.statusCode).toBe(401);
    },
  );

  itOnPostgres('ends its lists, whether they wait for their turn or are being read', async () => {
    const { id, secret: key } = await issueKey(app, { scopes: ['read'] });
    const somebody = await foreignConnection(app);
    await somebody.run('BEGIN');
    await somebody.run('LOCK TABLE entities IN ACCESS EXCLUSIVE MODE');
    const answers = Array.from({ length: 5 }, () => send(app, 'GET', '/api/v1/entities', { key }));
    await sleep(500);
    await send(other, 'POST', `${KEYS}/${id}/revoke`);
    // Requests that wait end now; others end as soon as they have read.
    const first = await Promise.race(answers);
    expect(first.status).toBe(401);
    await somebody.run('ROLLBACK');
    await somebody.close();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 401));
  });

  /** Takes a step while the first statement of a list is running; returns how many statements follow. */
  async function statementsAfter(step: () => Promise<unknown>, list: () => Promise<unknown>): Promise<number> {
    const { lists } = app.application.get(Database);
    const all = lists.all.bind(lists);
    let statements = 0;
    let pause: Promise<unknown> | undefined;
    const spy = jest.spyOn(lists, 'all').mockImplementation(async (sql, parameters = []) => {
      const rows = await all(sql, parameters);
      if (!/"(decisions|ledger_entries)"/.test(sql)) return rows;
      if (pause !== undefined) statements += 1;
      else await (pause = step().then(() => sleep(1_000)));
      return rows;
    });
    await list();
    await pause;
    // Unfinished reads would go on now.
    await sleep(500);
    spy.mockRestore();
    return statements;
  }

  it.each(['audit?entityId=ENTITY', 'decisions?awaiting=REVIEWER'])(
    'ends its list in the middle of reading, and so does its client: %s',
    async (path) => {
      names += 1;
      const entity = await createEntity(app);
      const reviewer = await createAgent(app, { name: `reviewer ${names}`, kind: 'human' });
      await propose(app, (await createAgent(app, { name: `proposer ${names}` })).id);
      const query = path.replace('ENTITY', entity.id).replace('REVIEWER', reviewer.id);
      Object.assign(app.application.get(RecordReader), { countedAtOnce: 1 });
      const { id, secret } = await issueKey(app, { scopes: ['read', 'audit'] });
      const client = new AbortController();
      const read = (): Promise<unknown> =>
        fetch(`${app.url}/api/v1/${query}`, { headers: { 'X-API-Key': secret }, signal: client.signal }).then(
          ({ status }) => status,
          () => null,
        );
      const leave = (): Promise<void> => {
        client.abort();
        return Promise.resolve();
      };
      expect(await statementsAfter(leave, read)).toBe(0);
      const answer = (): Promise<Answer> => send(app, 'GET', `/api/v1/${query}`, { key: secret });
      let status = 0;
      const followed = await statementsAfter(
        () => send(app, 'POST', `${KEYS}/${id}/revoke`),
        async () => (status = (await answer()).status),
      );
      expect([followed, status]).toEqual([0, 401]);
      Object.assign(app.application.get(RecordReader), { countedAtOnce: 250_000 });
    },
  );

  itOnPostgres('ends its verification in progress', async () => {
    const { id, secret: key } = await issueKey(app, { scopes: ['audit'] });
    await createEntity(app);
    const somebody = await foreignConnection(app);
    await somebody.run('BEGIN');
    await somebody.run('LOCK TABLE entities IN ACCESS EXCLUSIVE MODE');
    const answer = send(app, 'POST', '/api/v1/provenance/verify', { key, body: { state: true } });
    await send(other, 'POST', `${KEYS}/${id}/revoke`);
    expect((await answer).status).toBe(401);
    await somebody.run('ROLLBACK');
    await somebody.close();
  });

  it('resets its export', async () => {
    const properties = { text: 'x'.repeat(500_000) };
    for (let count = 0; count < 40; count += 1) await createEntity(app, { properties });
    const key = await issueKey(app, { scopes: ['audit'] });
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { 'X-API-Key': key.secret };
      get(`${app.url}/api/v1/provenance/export`, { headers }, resolve).on('error', reject);
    });
    await send(other, 'POST', `${KEYS}/${key.id}/revoke`);
    const readSlowly = async (): Promise<void> => {
      for await (const chunk of answer) await sleep(20, chunk);
    };
    await expect(readSlowly()).rejects.toThrow('aborted');
  });
});
