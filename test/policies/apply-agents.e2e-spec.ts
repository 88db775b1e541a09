import { ORIGIN } from '../support/application/authenticator';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { actionsOf, chainIsValid, createAgent, issueKey } from '../support/application/factories';
import { type Answer, faults, type Parsed, send } from '../support/application/send';
import { signer } from '../support/application/signers';

const POLICY = { version: '1', effect: 'allow', subjects: ['role:support'], actions: ['refund'], resources: ['*'] };

describe('POST /policies/apply with agents', () => {
  let app: TestApp;

  beforeEach(async () => {
    app = await createTestApp({ environment: { PUBLIC_URL: ORIGIN } });
  });
  afterEach(async () => {
    await chainIsValid(app);
    await app.close();
  });

  async function apply(
    agents: unknown,
    { key, name = 'refunds' }: { key?: string; name?: string } = {},
  ): Promise<Answer> {
    const { base } = (await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [] } })).body;
    const body = { base, policies: [{ ...POLICY, name }], agents };
    return send(app, 'POST', '/api/v1/policies/apply', { body, ...(key !== undefined && { key }) });
  }
  const agent = async (name: string): Promise<Parsed> => (await send(app, 'GET', `/api/v1/agents/${name}`)).body;

  it('registers and changes them in the commit of the policies', async () => {
    const before = await createAgent(app, { name: 'changed', roles: ['old'], description: 'was', capabilities: ['*'] });
    const keptAgent = await createAgent(app, { name: 'kept', roles: ['support'], capabilities: [], description: '' });
    const { status, body } = await apply([
      { name: 'new', roles: ['support'], capabilities: ['refund'] },
      { name: 'changed', roles: ['support'], capabilities: ['*'] },
      { name: 'kept', roles: ['support'] },
    ]);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      changes: [{ change: 'create', name: 'refunds' }],
      agents: [
        { change: 'create', name: 'new', revision: 1 },
        { change: 'update', id: before.id, name: 'changed', revision: 2 },
        { change: 'keep', id: keptAgent.id, name: 'kept', revision: 1 },
      ],
    });
    expect(await agent('new')).toMatchObject({ kind: 'machine', roles: ['support'], capabilities: ['refund'] });
    expect(await agent('changed')).toMatchObject({ roles: ['support'], description: '', capabilities: ['*'] });
    expect(await actionsOf(app, keptAgent.id)).toEqual(['agent.created']);
    const entries = (await send(app, 'GET', '/api/v1/audit?limit=3')).body.data;
    expect(entries.map(({ action }: Parsed) => action)).toEqual(['policy.created', 'agent.updated', 'agent.created']);
  });

  it('counts them in the warnings of the policies', async () => {
    await createAgent(app, { name: 'moved', kind: 'human', roles: ['lead'] });
    const asks = (name: string, ...approvers: object[]): object => {
      return { ...POLICY, name, effect: 'require_approval', approval: { approvers } };
    };
    const policies = [
      asks('of-new-people', { subjects: ['role:board'], approvals: 2 }),
      asks('of-a-name', { subjects: ['agent:ann'] }),
      asks('of-too-few', { subjects: ['role:board'], approvals: 3 }),
      asks('of-the-moved', { subjects: ['role:lead'] }),
    ];
    const agents = [
      { name: 'ann', kind: 'human', roles: ['board'] },
      { name: 'moved', kind: 'human', roles: ['board'] },
    ];
    const { base } = (await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [] } })).body;
    const body = { base, policies, agents };
    const applied = await send(app, 'POST', '/api/v1/policies/apply', { body });
    expect(applied.body.warnings).toEqual([
      expect.stringMatching(/^of-too-few \(version 1\): .* need 3 approvals/),
      'of-the-moved (version 1): No active agent matches approval.approvers[0] (role:lead).',
    ]);
    const stored: Parsed[] = (await send(app, 'GET', '/api/v1/policies')).body.data;
    const warnings = new Map(stored.map((policy: Parsed) => [policy.name, policy.warnings]));
    expect(warnings.get('of-new-people')).toEqual([]);
    expect(warnings.get('of-a-name')).toEqual([]);
    expect(warnings.get('of-too-few')).toEqual([expect.stringContaining('need 3 approvals')]);
    expect(warnings.get('of-the-moved')).toEqual(['No active agent matches approval.approvers[0] (role:lead).']);
  });

  it('counts no role that they take from a person, with or without a passkey', async () => {
    await signer(app, 'ann', ['lead']);
    const asks = (subject: string, signed: boolean): object => {
      const approval = { approvers: [{ subjects: [subject], ...(signed && { signed }) }] };
      return { ...POLICY, name: `${subject} ${signed}`, effect: 'require_approval', approval };
    };
    const policies = [asks('role:*', false), asks('role:lead', true), asks('role:board', true)];
    const { base } = (await send(app, 'POST', '/api/v1/policies/plan', { body: { policies: [] } })).body;
    const path = '/api/v1/policies/apply';
    const without = { base, policies, agents: [{ name: 'ann', kind: 'human', roles: [] }] };
    const { body: first } = await send(app, 'POST', path, { body: without });
    expect(first.warnings).toEqual([
      'role:* false (version 1): No active agent matches approval.approvers[0] (role:*).',
      ...['lead', 'board'].flatMap((role) => [
        `role:${role} true (version 1): No active agent matches approval.approvers[0] (role:${role}).`,
        `role:${role} true (version 1): Nobody with a passkey matches approval.approvers[0] (role:${role}), which is signed.`,
      ]),
    ]);
    const again = policies.map((policy) => ({ ...policy, version: '2' }));
    const agents = [{ name: 'ann', kind: 'human', roles: ['board'] }];
    const { body: second } = await send(app, 'POST', path, {
      body: { base: first.policySet, policies: again, agents },
    });
    expect(second.warnings.map((warning: string) => warning.slice(0, 14))).toEqual([
      'role:lead true',
      'role:lead true',
    ]);
  });

  it('changes nothing if anything is refused', async () => {
    await createAgent(app, { name: 'ann', kind: 'human' });
    const refused = [
      await apply([{ name: 'new' }, { name: 'ann' }]),
      await apply([{ name: 'new' }, { name: 'new' }]),
      await apply([{ name: 'new' }, { name: 'role:x' }]),
    ];
    expect(refused.map(faults)).toEqual([
      { 'agents[1].kind': 'must be human: the kind of an agent never changes' },
      { 'agents[1].name': 'must differ from agents[0].name: names are unique' },
      { 'agents[1].name': expect.any(String) },
    ]);
    expect((await send(app, 'GET', '/api/v1/agents/new')).status).toBe(404);
    expect((await send(app, 'GET', '/api/v1/policies')).body.total).toBe(0);
  });

  it('needs the scopes of what it changes', async () => {
    const keyWith = async (...scopes: string[]): Promise<string> => (await issueKey(app, { scopes })).secret;
    const key = await keyWith('policies', 'read');
    expect((await apply([{ name: 'new' }], { key })).body.error).toMatchObject({ code: 'PERMISSION_DENIED' });
    const managing = await keyWith('policies', 'read', 'agents');
    expect((await apply([{ name: 'ann', kind: 'human' }], { key: managing })).status).toBe(403);
    expect((await apply([{ name: 'new' }], { key: managing })).status).toBe(200);
    // Agents that stay as they are need no scope.
    expect((await apply([{ name: 'new' }], { key, name: 'other' })).status).toBe(200);
    expect((await apply(undefined, { key, name: 'third' })).body).not.toHaveProperty('agents');
  });
});
