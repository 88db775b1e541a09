import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, type TestApp } from '../support/create-test-app';
import { onPostgres } from '../support/database-kind';
import { chainIsValid, createAgent, createEntity, issueKey, propose } from '../support/factories';
import { type Answer, send } from '../support/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/temporary-database';

const KEYS = '/api/v1/api-keys';
const DECISIONS = '/api/v1/decisions';

/** What a caller has begun ends with its key or its agent's activity, also where another process ends them. */
describe('The end of a caller', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  /** Another process, where there can be one. */
  let other: TestApp;

  beforeAll(async () => {
    database = await temporaryDatabase();
    app = await createTestApp({ environment: database.environment });
    other = onPostgres ? await createTestApp({ environment: database.environment }) : app;
  });
  afterAll(async () => {
    await chainIsValid(app);
    if (other !== app) await other.close();
    await app.close();
    await database.remove();
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

  it('resets the export that it reads', async () => {
    const properties = { text: 'x'.repeat(500_000) };
    for (let count = 0; count < 40; count += 1) await createEntity(app, { properties });
    const key = await issueKey(app, { scopes: ['audit'] });
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { 'X-API-Key': key.secret };
      get(`${app.url}/api/v1/provenance/export`, { headers }, resolve).on('error', reject);
    });
    await send(other, 'POST', `${KEYS}/${key.id}/revoke`);
    const readSlowly = async (): Promise<void> => {
      for await (const piece of answer) await sleep(20, piece);
    };
    await expect(readSlowly()).rejects.toThrow('aborted');
  });
});
