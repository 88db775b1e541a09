import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';

/** Marks that would have to be put in order: the time for it grows with the square of their number. */
const MARKS = `a${'\u0345'.repeat(120_000)}${'\u0334'.repeat(120_000)}`;
/** A text with as many marks as one that is compared as a path may have. */
const PATH_OF_MARKS = `a${'\u0345'.repeat(2_000)}${'\u0334'.repeat(2_000)}`;
/** Time in which a minute of work would not end. */
const TIMEOUT = 30_000;

const REQUEST = { action: 'pay', resourceType: 'bill', resourceId: 'b1' };
const RESOURCE = { type: 'bill', id: 'b1' };
const POLICY = { name: 'p', version: '1', effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };

describe('Half a mebibyte of combining characters', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp({ environment: { BODY_LIMIT: '4000000' } });
    await createAgent(app, { name: 'bot', capabilities: ['pay'] });
    for (const op of ['within', 'domain']) {
      const value = op === 'within' ? '/srv/public' : ['acme.example'];
      await createPolicy(app, { name: op, conditions: [{ parameter: '/to/*', op, value }] });
    }
  });
  afterAll(() => app.close());

  it.each<[string, string, object, number]>([
    ['onBehalfOf', '/api/v1/agents/bot/execute', { ...REQUEST, onBehalfOf: { subject: `user:${MARKS}` } }, 400],
    ['a run', '/api/v1/agents/bot/execute', { ...REQUEST, run: MARKS }, 400],
    ['a resource', '/api/v1/agents/bot/execute', { ...REQUEST, resourceId: MARKS }, 400],
    ['a role', '/api/v1/policies/evaluate', { ...REQUEST, subject: { name: 'x', roles: [MARKS] } }, 400],
    [
      'a condition on the resource',
      '/api/v1/policies',
      { ...POLICY, conditions: [{ resource: 'id', op: 'eq', value: MARKS }] },
      400,
    ],
    [
      'a condition on the principal',
      '/api/v1/policies',
      { ...POLICY, conditions: [{ principal: 'id', op: 'in', value: [MARKS] }] },
      400,
    ],
    [
      'a path of a condition',
      '/api/v1/policies',
      { ...POLICY, conditions: [{ parameter: '/x', op: 'within', value: MARKS }] },
      400,
    ],
    [
      'a host name',
      '/api/v1/policies',
      { ...POLICY, conditions: [{ parameter: '/x', op: 'domain', value: ['\u6f22'.repeat(100_000)] }] },
      400,
    ],
    ['a subject', '/api/v1/policies', { ...POLICY, subjects: [`user:${MARKS}`] }, 400],
    [
      'a predicate',
      '/api/v1/policies',
      { ...POLICY, conditions: [{ claim: { predicate: MARKS }, op: 'exists', value: true }] },
      400,
    ],
  ])(
    'is refused as %s',
    async (_what, path, body, status) => {
      expect((await send(app, 'POST', path, { body })).status).toBe(status);
    },
    TIMEOUT,
  );

  it.each([
    ['type', { type: MARKS, id: 'x' }],
    ['id', { type: 'user', id: MARKS }],
    ['role', { type: 'user', id: 'x', properties: { roles: [MARKS] } }],
  ])(
    'is nobody as the %s of a subject of AuthZEN',
    async (_what, subject) => {
      const body = { subject, action: { name: 'pay' }, resource: RESOURCE };
      const answer = await send(app, 'POST', '/access/v1/evaluation', { body });
      expect([answer.status, answer.body['decision']]).toEqual([200, false]);
    },
    TIMEOUT,
  );

  it(
    'is unknown in each of a list of texts that are compared',
    async () => {
      const to = Array.from({ length: 120 }, (_, index) => `/srv/public/${index}${PATH_OF_MARKS}`);
      const parameters = { to: [...to, ...to.map((text) => `${text}@acme.example`)] };
      const answer = await send(app, 'POST', '/api/v1/policies/evaluate', {
        body: { ...REQUEST, agent: 'bot', parameters },
      });
      expect(answer.body).toMatchObject({ reason: 'no_policy_allows' });
    },
    TIMEOUT,
  );
});
