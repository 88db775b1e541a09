import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { send } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

/** Rows as earlier versions accepted them: inserted behind the service's back, since it would refuse such requests. */
describe('A name that an earlier version stored and that is no longer accepted', () => {
  let database: TemporaryDatabase;
  let app: TestApp;
  let log: string[];

  beforeEach(async () => {
    database = await temporaryDatabase();
    app = await start();
  });
  afterEach(async () => {
    await app.close();
    await database.remove();
  });

  function start(): Promise<TestApp> {
    log = [];
    const write = (line: string): void => void log.push(line);
    return createTestApp({ environment: database.environment, logStream: { write } });
  }

  async function store(table: string, id: string, members: Readonly<Record<string, readonly string[]>>): Promise<void> {
    const foreign = await foreignConnection(app);
    for (const [member, value] of Object.entries(members))
      await foreign.run(`UPDATE "${table}" SET "${member}" = $1 WHERE "id" = $2`, [JSON.stringify(value), id]);
    await foreign.close();
  }

  async function startAgain(): Promise<void> {
    await app.close();
    app = await start();
  }

  const warnings = (): string[] =>
    log.flatMap((line) => {
      const { level, msg } = JSON.parse(line) as { level: string; msg: string };
      return level === 'warn' ? [msg] : [];
    });

  async function ask(resourceId: string, resourceType = 'file'): Promise<number> {
    const body = { action: 'read', resourceType, resourceId };
    return (await send(app, 'POST', '/api/v1/agents/bot/execute', { body })).status;
  }

  it('matches nothing as a resource or a type of a policy, and the start says so', async () => {
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    const allow = await createPolicy(app, { name: 'all of a type' });
    const deny = await createPolicy(app, { name: 'no secrets', effect: 'deny', resources: ['secret/*'] });
    await createPolicy(app, { name: 'with a warning', subjects: ['user:x\u200b'] });
    await store('policies', allow.id, { resourceTypes: ['*', 'file'], resources: ['a ', 'docs/*'] });
    await store('policies', deny.id, { resources: ['secret\\a', 'docs/secret/*'] });
    await startAgain();
    expect(warnings()).toEqual([
      'The policy "no secrets" (version 1.0, deny) matches less than it seems to; replace it with a new version. ' +
        '"secret\\a" matches nothing: a resource must not contain "\\".',
      'The policy "all of a type" (version 1.0, allow) matches less than it seems to; replace it with a new version. ' +
        '"a " matches nothing: a resource must not have white space at the ends of a segment, also not percent-encoded (as "%20"). ' +
        '"*" matches nothing: a resource type must not contain "*": leave the list out for any type.',
    ]);
    expect([await ask('docs/a'), await ask('docs/secret/a'), await ask('secret/a')]).toEqual([200, 403, 403]);
    expect(await ask('docs/a', '*')).toBe(403);
  });

  it('matches nothing even if it is the only item of a list', async () => {
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    const { id } = await createPolicy(app, {});
    await store('policies', id, { resourceTypes: ['*'] });
    await startAgain();
    expect([await ask('docs/a'), await ask('docs/a', '*')]).toEqual([403, 403]);
  });

  it('matches nothing as a role or a capability, and the start names the policy', async () => {
    const { id } = await createAgent(app, { name: 'bot', capabilities: ['read', 'old'], roles: ['first', 'second'] });
    await createPolicy(app, { name: 'by any role', subjects: ['role:*'] });
    const deny = await createPolicy(app, { name: 'no operator', effect: 'deny', subjects: ['agent:x'] });
    expect(await ask('docs/a')).toBe(200);
    await store('policies', deny.id, { subjects: ['role:ops '], actions: ['read', 'read\u200b'] });
    await store('agents', id, { roles: ['ops '], capabilities: ['read', 'read\u200b'] });
    await startAgain();
    expect(warnings()).toEqual([
      'The policy "no operator" (version 1.0, deny) matches less than it seems to; replace it with a new version. ' +
        '"role:ops " matches nothing: a role must not begin or end with white space. ' +
        '"read\u200b" matches nothing: an action must not contain control or format characters.',
    ]);
    const refused = await send(app, 'POST', '/api/v1/agents/bot/execute', {
      body: { action: 'read', resourceType: 'file', resourceId: 'a' },
    });
    expect(refused).toMatchObject({ status: 403, body: { error: { reason: 'no_policy_allows' } } });
    expect(refused.body.error.message).not.toContain('role:');
    const unable = await send(app, 'POST', '/api/v1/agents/bot/execute', {
      body: { action: 'read\u200b', resourceType: 'file', resourceId: 'a' },
    });
    expect(unable).toMatchObject({ status: 403, body: { error: { reason: 'capability_missing' } } });
    expect(unable.body.error.message).toContain('A capability must not contain control or format characters.');
  });

  it('is reported when a version with it is activated again', async () => {
    const { id } = await createPolicy(app, { name: 'p', version: '1' });
    await createPolicy(app, { name: 'p', version: '2' });
    await store('policies', id, { resources: ['a//b'] });
    expect((await send(app, 'POST', `/api/v1/policies/${id}/activate`)).status).toBe(200);
    expect(warnings()).toEqual([expect.stringContaining('"a//b" matches nothing')]);
  });

  it('has more segments than are accepted now, in 130 policies of 100 such patterns: the start survives them', async () => {
    await createAgent(app, { name: 'bot', capabilities: ['read'] });
    await createPolicy(app, { name: 'allow all' });
    const deepest = (policy: number, pattern: number): string => `${policy}-${pattern}${'/x'.repeat(246)}`;
    for (let policy = 0; policy < 130; policy += 1) {
      const { id } = await createPolicy(app, { name: `deep ${policy}`, effect: 'deny', resources: ['shallow'] });
      await store('policies', id, { resources: Array.from({ length: 100 }, (_, at) => deepest(policy, at)) });
    }
    expect(await ask('shallow')).toBe(403);
    await startAgain();
    expect(await ask('shallow')).toBe(200);
    expect(await ask(deepest(0, 0))).toBe(400);
    expect((await send(app, 'GET', '/api/v1/policies?status=active')).body.total).toBe(131);
  });
});
