import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send, type Answer } from '../../support/application/send';
import { signedTokens } from '../../support/application/signed-tokens';
import { temporaryDatabase, type TemporaryDatabase } from '../../support/database/temporary-database';
import { untilStatus } from '../support/sessions';

/** Replicas also poll: in some rounds a poll would happen to come first. */
const ROUNDS = 5;
const ISSUER = 'https://login.example.org';

describe('A key of which another replica has just changed something', () => {
  let database: TemporaryDatabase;
  let writer: TestApp;
  let reader: TestApp;
  let folder: string;
  let token: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'new-keys-'));
    const { keys, tokens } = await signedTokens({ iss: ISSUER, aud: 'governance', sub: 'clerk' });
    token = tokens[0]?.['EdDSA'] ?? '';
    const issuer = {
      issuer: ISSUER,
      audience: 'governance',
      jwks: 'keys.json',
      agents: ['clerk'],
      scopes: ['entities'],
    };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys }));
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
    database = await temporaryDatabase();
    const environment = { ...database.environment, TOKEN_ISSUERS: join(folder, 'issuers.json') };
    const start = (): Promise<TestApp> => createTestApp({ environment });
    [writer, reader] = [await start(), await start()];
  });
  afterAll(async () => {
    await Promise.all([writer.close(), reader.close()]);
    await database.remove();
    rmSync(folder, { recursive: true });
  });

  it('is accepted if it was issued, for an agent that was resumed before', async () => {
    const { id: agentId } = await createAgent(writer, { name: 'bot', capabilities: ['read'] });
    const earlier = await issueKey(writer, { agentId });
    const read = ({ secret }: { readonly secret: string }): Promise<Answer> =>
      send(reader, 'GET', '/api/v1/entities', { key: secret });
    for (let round = 0; round < ROUNDS; round += 1) {
      await send(writer, 'POST', `/api/v1/agents/${agentId}/suspend`);
      await untilStatus(() => read(earlier), 403);
      await send(writer, 'POST', `/api/v1/agents/${agentId}/resume`);
      expect((await read(await issueKey(writer, { agentId }))).status).toBe(200);
    }
  });

  it('writes nothing from the moment that it was revoked, or its agent suspended until it is resumed', async () => {
    const { id: agentId } = await createAgent(writer, { name: 'clerk' });
    const write = (headers: Readonly<Record<string, string>>): Promise<Answer> =>
      send(reader, 'POST', '/api/v1/entities', { key: null, headers, body: { type: 'service', name: 'Gateway' } });
    const holder = { Authorization: `Bearer ${token}` };
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id, secret } = await issueKey(writer, { agentId, scopes: ['entities'] });
      const key = { 'X-API-Key': secret };
      for (const caller of [key, holder]) {
        expect((await write(caller)).status).toBe(201);
        await send(writer, 'POST', `/api/v1/agents/${agentId}/suspend`);
        const suspended = await write(caller);
        expect([suspended.status, suspended.body.error.reason]).toEqual([403, 'agent_suspended']);
        await send(writer, 'POST', `/api/v1/agents/${agentId}/resume`);
        expect((await write(caller)).status).toBe(201);
      }
      await send(writer, 'POST', `/api/v1/api-keys/${id}/revoke`);
      expect((await write(key)).status).toBe(401);
    }
    expect((await send(writer, 'GET', '/api/v1/entities')).body.total).toBe(4 * ROUNDS);
  });

  it('is one of those that could write the claims which a new policy looks at', async () => {
    const { id: agentId } = await createAgent(writer, { name: 'both', capabilities: ['pay'] });
    const claim = { claim: 'account', op: 'supports', parameter: '/account', value: 0.9 };
    const rules = { effect: 'allow', actions: ['pay'], conditions: [claim] };
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id } = await issueKey(writer, { agentId, scopes: ['execute', 'entities'] });
      const warned = await createPolicy(reader, { ...rules, name: `warned ${round}` });
      expect(warned.warnings).toEqual([expect.stringContaining('could write the claims itself')]);
      await send(writer, 'POST', `/api/v1/api-keys/${id}/revoke`);
      expect((await createPolicy(reader, { ...rules, name: `right ${round}` })).warnings).toEqual([]);
    }
  });
});
