import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { send } from '../support/application/send';
import { expectRefusal, invalid, post } from '../support/application/wire';

const EXECUTE = '/api/v1/agents/bot/execute';
const ALL = { effect: 'allow', subjects: ['*'], actions: ['*'], resources: ['*'] };
/** Encoded as many times as the length of a resource allows. */
const DEEP = '25'.repeat(240);

const requestText = (members: object): string =>
  JSON.stringify({ action: 'read', resourceType: 'doc', resourceId: 'secret/a', ...members });

describe('A resource that a policy denies', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createTestApp();
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    await createPolicy(app, ALL);
    await createPolicy(app, { ...ALL, effect: 'deny', resources: ['secret/*', 'caf\u00e9/menu', 'vault/a%20b'] });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it.each([
    ...['secret/a', '/secret/a', 'secret/a/b', 'secret/50% off', 'secret/a%3Ab'],
    ...[
      'caf\u00e9/menu',
      'cafe\u0301/menu',
      'caf%C3%A9/menu',
      'cafe%CC%81/menu',
      'caf%25C3%25A9/menu',
      'vault/a b',
      'vault/a%20b',
    ],
  ])('is denied: %s', async (id) => {
    const answer = await send(app, 'POST', EXECUTE, { body: JSON.parse(requestText({ resourceId: id })) });
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'POLICY_DENIED' } } });
  });

  const SPELLINGS = [
    ...['secret%2Fa', 'secret%2fa', 'secret%252Fa', 'secret%25252fa', `secret%${DEEP}2Fa`, '%2Fsecret/a', 'secret/a%2F'],
    ...['%73ecret/a', '%2573ecret/a', 's%65cret/a', 'secret/%61', 'secret/%41', 'secret/%2561', `secret/%${DEEP}61`],
    ...['secret/%2E/a', 'x/%2e%2e/secret/a', 'x/.%2E/secret/a', 'x/%252e%252e/secret/a', 'secret/%7Ea', 'secret/%5fa'],
    ...['secret%C0%AFa', 'secret%E0%80%AFa', 'secret%25C0%25AFa', '%C1%B3ecret/a', 'secret/%FF', 'secret/%ED%A0%80'],
    ...['secret\\a', 'x/..\\secret/a', 'secret%5Ca', 'secret%255ca', 'x/..;/secret/a', 'secret;x=1/a', 'secret/a;', 'secret/a%3B'],
    ...['secret/a?', 'secret/a?b', 'secret/a#b', 'secret/a%3F', 'secret/a%2523', 'secret/a\u037e', 'secret/a ', ' secret/a'],
    ...['secret /a', 'secret/\u00a0a', 'secret/a%20', 'secret/\u200ba', 'sec\u00adret/a', '\ufeffsecret/a', 'secret/a%E2%80%8B'],
    ...['secret\uff0fa', 'secret\uff3ca', 'x/\uff0e\uff0e/secret/a', 'x/\u2025/secret/a', 'x/.\uff0e/secret/a', 'secret%EF%BC%8Fa'],
    ...['http:secret/a', 'https:/secret/a', 'https://HOST/secret/a', `secret${'/a'.repeat(64)}`],
    ...['secret/%00', 'secret/a%0d%0a', 'secret/%C2%85', 'secret//a', 'x/../secret/a', './secret/a'],
  ]; // prettier-ignore
  it.each(SPELLINGS)('is 400 in another spelling: %s', async (spelling) => {
    await expectRefusal(app, post(EXECUTE, requestText({ resourceId: spelling })), invalid('resourceId'));
    const policy = { ...ALL, name: 'another spelling', version: '1', resources: ['x', spelling, `${spelling}/*`] };
    await expectRefusal(app, post('/api/v1/policies', JSON.stringify(policy)), invalid('resources[1]', 'resources[2]'));
  });

  it.each([
    ...['%73ecret', '%2573ecret', 'secret%2Fa', 'secret%C0%AFa', '%ff', '%2e%2e'],
    ...['secret\\a', 'secret ', '\u200bsecret', '\uff0e\uff0e', 'secret\uff0fa', 'secret%20'],
  ])('is 400 by its type in another spelling: %s', async (resourceType) => {
    await expectRefusal(app, post(EXECUTE, requestText({ resourceType, resourceId: 'a' })), invalid('resourceType'));
    const policy = { ...ALL, name: 'another spelling', version: '1', resourceTypes: [resourceType] };
    await expectRefusal(app, post('/api/v1/policies', JSON.stringify(policy)), invalid('resourceTypes[0]'));
  });

  it('is refused with a message that says what would be right', async () => {
    const answer = await send(app, 'POST', EXECUTE, { body: JSON.parse(requestText({ resourceId: 'secret%2Fa' })) });
    expect(answer.body.error.message).toContain('resourceId must not percent-encode "/"');
    const other = await send(app, 'POST', EXECUTE, { body: JSON.parse(requestText({ resourceId: '%73ecret/a' })) });
    expect(other.body.error.message).toContain('resourceId must have A-Z, a-z, 0-9');
  });

  it.each([
    'What is this?',
    'Issue #12',
    'a;b',
    `a${'/b'.repeat(63)}`,
    '50% off',
    '100%',
    'a%3Ab',
    'a%20b',
    '%25',
    '%2525',
    'caf%C3%A9',
    '%zz/a',
    `%${DEEP}`,
    '%'.repeat(500),
  ])('is another one, which may be named: %s', async (resourceId) => {
    const answer = await send(app, 'POST', EXECUTE, { body: JSON.parse(requestText({ resourceId })) });
    expect(answer).toMatchObject({ status: 200, body: { resourceId, outcome: 'authorized' } });
    await createPolicy(app, { ...ALL, subjects: ['nobody'], resources: [resourceId] });
  });
});
