import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseTokenIssuers } from '../../src/governance/tokens/token-issuer';
import { createTestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';
import { stageOf } from '../support/application/stage';
import {
  AUDIENCE,
  claims,
  ISSUER,
  newPair,
  type Pair,
  type Parts,
  publicKey,
  sendAs,
  signedToken,
} from './token-signing';

const LOOK = { action: 'look', resourceType: 'document', resourceId: 'a' };
const PRINCIPALS = { principalClaim: 'act_for', principalRolesClaim: 'groups', principalAgents: ['role:staff'] };

describe('The principal that a token names', () => {
  const folder = mkdtempSync(join(tmpdir(), 'principals-'));
  let pair: Pair;
  const stage = stageOf(async () => {
    pair = await newPair('ES256');
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [await publicKey(pair, 'one')] }));
    const issuer = { issuer: ISSUER, audience: AUDIENCE, jwks: 'keys.json', agents: ['*'] };
    const issuers = [{ ...issuer, scopes: ['execute', 'read'], ...PRINCIPALS }];
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify(issuers));
    const app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    await createPolicy(app);
    await createAgent(app, { name: 'invoice-bot', capabilities: ['look'] });
    const person = { kind: 'human', roles: ['staff', 'finance'] };
    const { id: annId } = await createAgent(app, { name: 'ann', ...person });
    await createAgent(app, { name: 'zed', kind: 'human' });
    await createAgent(app, { name: 'staff-bot', roles: ['staff'] });
    return { app, annId };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function ask(parts: Parts, body: Parts = {}, path = 'agents/invoice-bot/execute'): Promise<Answer> {
    const token = await signedToken('ES256', pair, { kid: 'one' }, claims(parts));
    return sendAs(stage.app, token, `/api/v1/${path}`, 'POST', { ...LOOK, ...body });
  }

  const user = (id: string, roles?: string[]): object => ({
    onBehalfOf: { subject: `user:${id}`, ...(roles !== undefined && { roles }) },
  });

  it.each([
    ['a user', { act_for: 'u1' }, user('u1')],
    ['a user with roles, each once and in order', { act_for: 'u1', groups: ['b', 'a', 'b'] }, user('u1', ['a', 'b'])],
    ['roles in one text', { act_for: 'u1', groups: 'b a' }, user('u1', ['a', 'b'])],
    ['roles in another normal form', { act_for: 'u1', groups: ['', 'cafe\u0301'] }, user('u1', ['café'])],
    // A role that is left out could dodge a rule.
    ['nobody with what is not a role', { act_for: 'u1', groups: ['a', 7] }, { onBehalfOf: null }],
    ['nobody with a role that looks like another', { act_for: 'u1', groups: ['a', 'b '] }, { onBehalfOf: null }],
    ['nobody with something else in place of roles', { act_for: 'u1', groups: { a: true } }, { onBehalfOf: null }],
    [
      'nobody with too many roles',
      { act_for: 'u1', groups: Array.from({ length: 51 }, (_, role) => `r${role}`) },
      { onBehalfOf: null },
    ],
    ['an identifier with colons', { act_for: 'urn:u:1' }, user('urn:u:1')],
    ['another normal form', { act_for: 'zoe\u0308' }, user('zoë')],
    ['a person that its issuer may not name', { act_for: 'zed' }, user('zed')],
    ['a machine', { act_for: 'staff-bot' }, user('staff-bot')],
    ['nobody', { groups: ['a'] }, { onBehalfOf: null }],
    ['what cannot be an identifier', { act_for: 'a\u0007' }, { onBehalfOf: null }],
    ['a number', { act_for: 7 }, { onBehalfOf: null }],
    ['too long an identifier', { act_for: 'x'.repeat(501) }, { onBehalfOf: null }],
  ])('is %s', async (_what, parts, expected) => {
    expect((await ask(parts)).body).toMatchObject({ outcome: 'authorized', ...expected });
  });

  it('is a registered person that its issuer may name, with the roles of that person', async () => {
    const onBehalfOf = { subject: `agent:${stage.annId}` };
    for (const act_for of ['ann', stage.annId])
      expect((await ask({ act_for, groups: ['boss'] })).body.onBehalfOf).toEqual(onBehalfOf);
  });

  it.each([
    ['the same', { act_for: 'u1' }, { subject: 'user:u1' }, 200],
    ['the same with the same roles', { act_for: 'u1', groups: 'a b' }, { subject: 'user:u1', roles: ['b', 'a'] }, 200],
    ['the same person', { act_for: 'ann' }, { subject: 'agent:ann' }, 200],
    ['another user', { act_for: 'u1' }, { subject: 'user:u2' }, 403],
    ['other roles', { act_for: 'u1', groups: 'a' }, { subject: 'user:u1', roles: ['b'] }, 403],
    ['a person as a user', { act_for: 'ann' }, { subject: 'user:ann' }, 403],
    ['another person', { act_for: 'ann' }, { subject: 'agent:zed' }, 403],
    ['a person who does not exist', { act_for: 'ann' }, { subject: 'agent:nobody' }, 403],
    ['anybody without the claim', {}, { subject: 'user:u1' }, 403],
  ])('may be named in the request, if it is %s', async (_what, parts, onBehalfOf, status) => {
    const executed = await ask(parts, { onBehalfOf });
    expect(executed.status).toBe(status);
    const evaluated = await ask(parts, { agent: 'invoice-bot', onBehalfOf }, 'policies/evaluate');
    expect(evaluated.status).toBe(status);
    if (status === 403) expect(executed.body.error.reason).toBe('not_this_principal');
  });

  it('counts in evaluate, too, where the request does not name it', async () => {
    await send(stage.app, 'POST', '/api/v1/agents/ann/suspend');
    const { body } = await ask({ act_for: 'ann' }, { agent: 'invoice-bot' }, 'policies/evaluate');
    await send(stage.app, 'POST', '/api/v1/agents/ann/resume');
    expect(body).toMatchObject({ effect: 'deny', reason: 'principal_suspended' });
  });

  it.each([
    ['the same', { type: 'user', id: 'u1' }, null],
    ['the same with the same roles', { type: 'user', id: 'u1', properties: { roles: ['b', 'a'] } }, null],
    ['another', { type: 'user', id: 'u2' }, 'not_this_principal'],
    ['one with other roles', { type: 'user', id: 'u1', properties: { roles: [] } }, 'not_this_principal'],
  ])('is that of an AuthZEN question about its agent: %s', async (_what, subject, reason) => {
    const token = await signedToken('ES256', pair, { kid: 'one' }, claims({ act_for: 'u1', groups: 'a b' }));
    const question = { subject, action: { name: 'look' }, resource: { type: 'document', id: 'a' } };
    const body = { ...question, context: { agent: 'invoice-bot' } };
    const answer = await sendAs(stage.app, token, '/access/v1/evaluation', 'POST', body);
    expect(answer).toMatchObject({ status: 200, body: { decision: reason === null, context: { reason } } });
  });

  it('is not that of another token under the same idempotency key', async () => {
    const token = (act_for: string): Promise<string> => signedToken('ES256', pair, { kid: 'one' }, claims({ act_for }));
    const execute = async (act_for: string): Promise<Answer> =>
      send(stage.app, 'POST', '/api/v1/agents/invoice-bot/execute', {
        key: null,
        headers: { Authorization: `Bearer ${await token(act_for)}`, 'Idempotency-Key': 'same' },
        body: LOOK,
      });
    const first = await execute('u1');
    expect((await execute('u1')).body.id).toBe(first.body.id);
    const other = (await execute('u2')).body;
    expect(other).toMatchObject(user('u2'));
    expect(other.id).not.toBe(first.body.id);
  });
});

describe('An issuer', () => {
  const issuer = { issuer: ISSUER, audience: AUDIENCE, jwks: 'keys.json', agents: ['*'], scopes: ['execute'] };

  it.each([
    [{ principalRolesClaim: 'groups' }, '[0].principalRolesClaim goes with principalClaim'],
    [{ principalAgents: ['*'] }, '[0].principalAgents goes with principalClaim'],
    [{ principalClaim: '' }, '[0].principalClaim must not be blank'],
    [{ principalClaim: 'sub', principalAgents: [] }, '[0].principalAgents must be an array of 1 to 1000 texts'],
    [{ principalClaim: 'sub', principalAgents: ['a*'] }, expect.stringContaining('[0].principalAgents[0]')],
  ])('with %j is refused', (more, fault) => {
    expect(parseTokenIssuers(JSON.stringify([{ ...issuer, ...more }]))).toEqual({ fault });
  });
});
