import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import {
  approve,
  approved,
  ask,
  company,
  type Company,
  DECISIONS,
  EXECUTIONS,
  pending,
  requireApproval,
} from '../approvals/support';
import { chainIsValid, createAgent, createPolicy, issueKey } from '../support/application/factories';
import { generatedSection, markdownTable } from '../support/documents/generated-section';
import { type Answer, send } from '../support/application/send';
import { signedTokens } from '../support/application/signed-tokens';

const ISSUER = 'https://login.example.org';
const DOCUMENT = 'docs/threats.md';

/** What every chain may start from: a company of its own, and keys that were issued for good reasons. */
interface Scene {
  readonly people: Company;
  readonly place: { readonly resourceId: string };
  readonly keyOf: (agentId: string | null, ...scopes: string[]) => Promise<string>;
  /** Of an identity provider that may speak for the role `auditing`, to which Tina belongs, and not for Sven. */
  readonly tokens: Tokens;
}

interface Tokens {
  readonly tina: string;
  readonly tinaElsewhere: string;
  readonly sven: string;
}

/** `key` may be a token. */
type Send = (
  key: string,
  method: string,
  path: string,
  body?: object,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

/** A chain of calls that must not lead to a right. The last answer refuses it. */
interface Chain {
  readonly right: string;
  readonly holder: string;
  readonly calls: string;
  readonly walk: (scene: Scene, call: Send) => Promise<Answer>;
  /** The status, and the reason of a refusal by rule. */
  readonly end: readonly [status: number, reason?: string];
}

const PERSON = { name: 'sock-puppet', kind: 'human', roles: ['finance'] };

const CHAINS: readonly Chain[] = [
  {
    right: 'approve what one asks for',
    holder: "the agent's key, `execute` and `review`",
    calls: 'asks, then approves as itself',
    walk: async ({ people, place, keyOf }, call) => {
      const key = await keyOf(people.bot.id, 'execute', 'review');
      const { decisionId } = (await asked(key, people, place, call)).body;
      return call(key, 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [403, 'self_approval'],
  },
  {
    right: 'approve what one asks for',
    holder: "the agent's key, `execute` and `review`",
    calls: 'asks, then approves as a person of finance',
    walk: async ({ people, place, keyOf }, call) => {
      const key = await keyOf(people.bot.id, 'execute', 'review');
      const { decisionId } = (await asked(key, people, place, call)).body;
      return call(key, 'POST', `decisions/${decisionId}/approve`, { approverId: people.ann.id });
    },
    end: [403, 'not_this_agent'],
  },
  {
    right: 'approve what one asks for',
    holder: "the agent's key, `execute`",
    calls: 'makes a person of finance: the sock puppet',
    walk: async ({ people, keyOf }, call) => call(await keyOf(people.bot.id, 'execute'), 'POST', 'agents', PERSON),
    end: [403, 'scope_missing'],
  },
  {
    right: 'be an approver',
    holder: 'an unbound key, `agents` and `review`',
    calls: 'makes a person of finance',
    walk: async ({ keyOf }, call) => call(await keyOf(null, 'agents', 'review'), 'POST', 'agents', PERSON),
    end: [403, 'scope_missing'],
  },
  {
    right: 'be an approver',
    holder: 'an unbound key, `agents`',
    calls: 'gives a person the role `finance`',
    walk: async ({ people, keyOf }, call) =>
      call(await keyOf(null, 'agents'), 'PATCH', `agents/${people.eve.id}`, { roles: ['finance'] }),
    end: [403, 'scope_missing'],
  },
  {
    right: 'be an approver',
    holder: 'an unbound key, `agents` and `review`',
    calls: 'makes a machine with the role `finance`, and approves as it',
    walk: async ({ people, place, keyOf }, call) => {
      const key = await keyOf(null, 'agents', 'review');
      const machine = await call(key, 'POST', 'agents', { name: `machine of ${people.bot.name}`, roles: ['finance'] });
      expect(machine.status).toBe(201);
      const { decisionId } = await pending(app, people.bot, place);
      return call(key, 'POST', `decisions/${decisionId}/approve`, { approverId: machine.body.id });
    },
    end: [403, 'reviewer_not_bound'],
  },
  {
    right: 'be an approver',
    holder: "a machine's key, `review`",
    calls: 'approves, having the role `finance`',
    walk: async ({ people, place, keyOf }, call) => {
      const machine = await createAgent(app, { name: `clerk of ${people.bot.name}`, roles: ['finance'] });
      const { decisionId } = await pending(app, people.bot, place);
      return call(await keyOf(machine.id, 'review'), 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [403, 'not_an_approver'],
  },
  {
    right: 'be an approver',
    holder: "a person's key, `review`",
    calls: 'approves, being of another role',
    walk: async ({ people, place, keyOf }, call) => {
      const { decisionId } = await pending(app, people.bot, place);
      return call(await keyOf(people.eve.id, 'review'), 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [403, 'not_an_approver'],
  },
  {
    right: 'be an approver',
    holder: "a person's key, `review`",
    calls: 'approves after the role was taken away',
    walk: async ({ people, place, keyOf }, call) => {
      const key = await keyOf(people.ann.id, 'review');
      const { decisionId } = await pending(app, people.bot, place);
      await send(app, 'PATCH', `/api/v1/agents/${people.ann.id}`, { body: { roles: [] } });
      return call(key, 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [403, 'not_an_approver'],
  },
  {
    right: 'be an approver',
    holder: "a person's token that was issued for another service",
    calls: 'approves',
    walk: async ({ people, place, tokens: { tinaElsewhere } }, call) => {
      const { decisionId } = await pending(app, people.bot, place);
      return call(tinaElsewhere, 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [401],
  },
  {
    right: 'be an approver',
    holder: 'a token of a person for whom the identity provider may not speak',
    calls: 'approves',
    walk: async ({ people, place, tokens: { sven } }, call) => {
      const { decisionId } = await pending(app, people.bot, place);
      return call(sven, 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [403, 'agent_unknown'],
  },
  {
    right: 'be an approver',
    holder: "a person's token with `review`",
    calls: 'approves as another person of finance',
    walk: async ({ people, place, tokens: { tina } }, call) => {
      const { decisionId } = await pending(app, people.bot, place);
      return call(tina, 'POST', `decisions/${decisionId}/approve`, { approverId: people.ann.name });
    },
    end: [403, 'not_this_agent'],
  },
  {
    right: 'be an approver',
    holder: 'an unbound key, `agents`',
    calls: 'turns a machine into a person',
    walk: async ({ people, keyOf }, call) =>
      call(await keyOf(null, 'agents'), 'PATCH', `agents/${people.bot.name}`, { kind: 'human' }),
    end: [400],
  },
  {
    right: 'count as two approvers',
    holder: "a person's key, `review`",
    calls: 'approves twice',
    walk: async ({ people, place, keyOf }, call) => {
      await requireApproval(
        app,
        { approvers: [{ subjects: ['role:finance'], approvals: 2 }] },
        { resources: [place.resourceId], priority: 5 },
      );
      const key = await keyOf(people.ann.id, 'review');
      const { decisionId } = await pending(app, people.bot, place);
      expect((await call(key, 'POST', `decisions/${decisionId}/approve`, {})).body.status).toBe('proposed');
      return call(key, 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [409],
  },
  {
    right: 'count as two approvers',
    holder: "a person's token, and a key of the same person",
    calls: 'approves once with each',
    walk: async ({ people, place, keyOf, tokens: { tina } }, call) => {
      await requireApproval(
        app,
        { approvers: [{ subjects: ['role:finance'], approvals: 2 }] },
        { resources: [place.resourceId], priority: 5 },
      );
      const { decisionId } = await pending(app, people.bot, place);
      expect((await call(tina, 'POST', `decisions/${decisionId}/approve`, {})).body.status).toBe('proposed');
      return call(await keyOf('tina', 'review'), 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [409],
  },
  {
    right: "use another agent's approval",
    holder: "another agent's key, `execute` and `read`",
    calls: 'resumes the approved execution',
    walk: async ({ people, place, keyOf }, call) => {
      const { id } = await approved(app, people, place);
      const thief = await createAgent(app, { name: `thief of ${people.bot.name}`, capabilities: ['refund'] });
      return call(await keyOf(thief.id, 'execute', 'read'), 'POST', `executions/${id}/resume`);
    },
    end: [403, 'not_this_agent'],
  },
  {
    right: "use another agent's approval",
    holder: "another agent's key, `execute`",
    calls: 'executes as that agent',
    walk: async ({ people, keyOf }, call) => {
      const thief = await createAgent(app, { name: `double of ${people.bot.name}`, capabilities: ['refund'] });
      return asked(await keyOf(thief.id, 'execute'), people, { resourceId: 'orders/1' }, call);
    },
    end: [403, 'not_this_agent'],
  },
  {
    right: 'use an approval for more',
    holder: "another key of the agent, `execute`, which knows the other's `Idempotency-Key`",
    calls: 'repeats the resume of the other key',
    walk: async ({ people, place, keyOf }, call) => {
      const { id } = await approved(app, people, place);
      const headers = { 'Idempotency-Key': `resume-${id}` };
      const resumed = `executions/${id}/resume`;
      expect((await call(await keyOf(people.bot.id, 'execute'), 'POST', resumed, undefined, headers)).status).toBe(200);
      return call(await keyOf(people.bot.id, 'execute'), 'POST', resumed, undefined, headers);
    },
    end: [409],
  },
  {
    right: 'use an approval for more',
    holder: "the agent's key, `execute`",
    calls: 'resumes twice',
    walk: async ({ people, place, keyOf }, call) => {
      const { id } = await approved(app, people, place);
      const key = await keyOf(people.bot.id, 'execute');
      expect((await call(key, 'POST', `executions/${id}/resume`)).status).toBe(200);
      return call(key, 'POST', `executions/${id}/resume`);
    },
    end: [409],
  },
  {
    right: 'use an approval for more',
    holder: "the agent's key, `execute`",
    calls: 'has one amount approved, executes with another: it waits for an approval of its own, and cannot be resumed',
    walk: async ({ people, place, keyOf }, call) => {
      await approved(app, people, place);
      const key = await keyOf(people.bot.id, 'execute');
      const other = await asked(key, people, { ...place, parameters: { amount: 8000 } }, call);
      expect(other.status).toBe(202);
      return call(key, 'POST', `executions/${other.body.id}/resume`);
    },
    end: [409],
  },
  {
    right: 'use an approval for more',
    holder: "the agent's key, `execute`",
    calls: 'names the same resource in another spelling: it waits for an approval of its own, and cannot be resumed',
    walk: async ({ people, place: { resourceId } }, call) => {
      await approved(app, people, { resourceId });
      const { secret: key } = await issueKey(app, { agentId: people.bot.id, scopes: ['execute'] });
      const other = await asked(key, people, { resourceId: `/${resourceId}` }, call);
      expect([other.status, other.body.outcome]).toEqual([202, 'pending_approval']);
      return call(key, 'POST', `executions/${other.body.id}/resume`);
    },
    end: [409],
  },
  {
    right: 'use an approval for more',
    holder: "the agent's key, `execute`",
    calls: 'resumes after the policy names another group',
    walk: async ({ people, place, keyOf }, call) => {
      const { id } = await approved(app, people, place);
      const approvers = [{ subjects: ['role:security'] }];
      await requireApproval(app, { approvers }, { resources: [place.resourceId], priority: 5 });
      return call(await keyOf(people.bot.id, 'execute'), 'POST', `executions/${id}/resume`);
    },
    end: [403, 'approval_insufficient'],
  },
  {
    right: 'use an approval for more',
    holder: "the agent's key, `execute`",
    calls: 'resumes after the policy asks for a second person in another group, to which the first belongs, too',
    walk: async ({ people, place, keyOf }, call) => {
      const { id } = await approved(app, people, place);
      const approvers = [{ subjects: ['role:finance'] }, { subjects: [people.ann.name] }];
      await requireApproval(app, { approvers }, { resources: [place.resourceId], priority: 5 });
      return call(await keyOf(people.bot.id, 'execute'), 'POST', `executions/${id}/resume`);
    },
    end: [403, 'approval_insufficient'],
  },
  {
    right: 'use an approval for more',
    holder: "the agent's key, `execute`",
    calls: 'repeats an authorised resume under its `Idempotency-Key` after a deny',
    walk: async ({ people, place, keyOf }, call) => {
      const { id } = await approved(app, people, place);
      const key = await keyOf(people.bot.id, 'execute');
      const headers = { 'Idempotency-Key': `go-${id}` };
      const resumed = `executions/${id}/resume`;
      expect((await call(key, 'POST', resumed, undefined, headers)).body.outcome).toBe('authorized');
      await createPolicy(app, { effect: 'deny', resources: [place.resourceId], priority: 5 });
      return call(key, 'POST', resumed, undefined, headers);
    },
    end: [403, 'policy_denied'],
  },
  {
    right: 'have a rejection forgotten',
    holder: "the agent's key, `execute`",
    calls: 'asks again',
    walk: async ({ people, place, keyOf }, call) => {
      const { decisionId } = await pending(app, people.bot, place);
      await send(app, 'POST', `${DECISIONS}/${decisionId}/reject`, { body: { approverId: people.ann.id } });
      return asked(await keyOf(people.bot.id, 'execute'), people, place, call);
    },
    end: [403, 'approval_rejected'],
  },
  {
    right: 'execute without an approval',
    holder: "the agent's key, `execute` and `propose`",
    calls: 'proposes a decision for its execution with approvers of its own choice',
    walk: async ({ people, place, keyOf }, call) => {
      const { id } = await pending(app, people.bot, place);
      const body = { type: 'execution', title: 'mine', riskLevel: 'low', executionId: id };
      return call(await keyOf(people.bot.id, 'execute', 'propose'), 'POST', 'decisions', body);
    },
    end: [400],
  },
  {
    right: 'execute without an approval',
    holder: "the agent's key, `execute`",
    calls: 'reports a result of what waits for its approval',
    walk: async ({ people, place, keyOf }, call) => {
      const { id } = await pending(app, people.bot, place);
      const key = await keyOf(people.bot.id, 'execute');
      return call(key, 'POST', `executions/${id}/result`, { outcome: 'executed' });
    },
    end: [409],
  },
  {
    right: 'execute without an approval',
    holder: "the agent's key, `execute`",
    calls: 'leaves out, or sends as a text, what a limit looks at',
    walk: async ({ people, place, keyOf }, call) => {
      const rule = { actions: ['refund'], resources: [place.resourceId], priority: 5 };
      await createPolicy(app, rule);
      const conditions = [{ parameter: '/amount', op: 'gt', value: 50 }];
      await createPolicy(app, { ...rule, effect: 'deny', conditions });
      const key = await keyOf(people.bot.id, 'execute');
      const under = await asked(key, people, { ...place, parameters: { amount: 50 } }, call);
      expect(under.body.outcome).toBe('authorized');
      for (const parameters of [{}, { amount: null }, { Amount: 1 }, { amount: ['1'] }])
        expect((await asked(key, people, { ...place, parameters }, call)).status).toBe(403);
      return asked(key, people, { ...place, parameters: { amount: '1' } }, call);
    },
    end: [403, 'policy_denied'],
  },
  {
    right: 'change the policies',
    holder: "the agent's key, every scope but `policies` and `admin`",
    calls: 'allows itself what needs an approval',
    walk: async ({ people, keyOf }, call) => {
      const key = await keyOf(people.bot.id, 'read', 'audit', 'entities', 'agents', 'execute', 'propose', 'review');
      const everything = { subjects: ['*'], actions: ['*'], resources: ['*'], priority: 1000 };
      return call(key, 'POST', 'policies', { name: 'mine', version: '1', effect: 'allow', ...everything });
    },
    end: [403, 'scope_missing'],
  },
  {
    right: 'have another role or capability',
    holder: "the agent's key, `agents`",
    calls: 'changes its own agent',
    walk: async ({ people, keyOf }, call) =>
      call(await keyOf(people.bot.id, 'agents'), 'PATCH', `agents/${people.bot.name}`, { roles: ['finance'] }),
    end: [403, 'own_agent'],
  },
  {
    right: 'go on while suspended',
    holder: "the agent's key, `agents`",
    calls: 'resumes its own agent',
    walk: async ({ people, keyOf }, call) => {
      const key = await keyOf(people.bot.id, 'agents');
      await send(app, 'POST', `/api/v1/agents/${people.bot.id}/suspend`);
      return call(key, 'POST', `agents/${people.bot.id}/resume`);
    },
    end: [403, 'agent_suspended'],
  },
  {
    right: 'have another key',
    holder: 'an unbound key, every scope but `admin`',
    calls: 'issues a key for a person of finance',
    walk: async ({ people, keyOf }, call) => {
      const key = await keyOf(null, 'read', 'audit', 'entities', 'agents', 'execute', 'propose', 'review', 'policies');
      return call(key, 'POST', 'api-keys', { name: 'mine', scopes: ['review'], agentId: people.ann.id });
    },
    end: [403, 'scope_missing'],
  },
  {
    right: 'have another key',
    holder: 'a key with `audit`',
    calls: 'presents the `secretHash` of a sealed state',
    walk: async ({ people, keyOf }, call) => {
      const victim = await issueKey(app, { agentId: people.ann.id, scopes: ['review'] });
      const entries = await call(await keyOf(null, 'audit'), 'GET', `provenance?subjectId=${victim.id}`);
      const entry = await call(await keyOf(null, 'audit'), 'GET', `provenance/${entries.body.data[0].sequence}`);
      const { prefix, secretHash } = entry.body.state;
      expect((await call(secretHash, 'GET', 'me')).status).toBe(401);
      return call(`${prefix}_${secretHash.slice(0, 43)}`, 'GET', 'me');
    },
    end: [401],
  },
  {
    right: 'use a key that has ended',
    holder: 'a revoked key',
    calls: 'repeats a request under the `Idempotency-Key` it had',
    walk: async ({ people, place }) => {
      const { id, secret: key } = await issueKey(app, { agentId: people.bot.id, scopes: ['execute'] });
      const headers = { 'Idempotency-Key': `once-${id}` };
      const body = { action: 'refund', resourceType: 'payment', ...place };
      const repeat = (): Promise<Answer> =>
        send(app, 'POST', `/api/v1/agents/${people.bot.name}/execute`, { key, headers, body });
      expect((await repeat()).status).toBe(202);
      await send(app, 'POST', `/api/v1/api-keys/${id}/revoke`);
      return repeat();
    },
    end: [401],
  },
  {
    right: 'see what others do',
    holder: "the agent's key, `execute`",
    calls: "reads another agent's execution",
    walk: async ({ people, place, keyOf }, call) => {
      const { id } = await pending(app, people.bot, place);
      const other = await createAgent(app, { name: `watcher of ${people.bot.name}` });
      const key = await keyOf(other.id, 'execute');
      expect((await call(key, 'GET', `executions?agentId=${people.bot.id}`)).body).toEqual({ data: [], total: 0 });
      return call(key, 'GET', `executions/${id}`);
    },
    end: [404],
  },
  {
    right: 'see what others do',
    holder: 'a key with every scope but `audit` and `admin`',
    calls: 'reads the sealed states',
    walk: async ({ keyOf }, call) => {
      const key = await keyOf(null, 'read', 'entities', 'agents', 'execute', 'propose', 'review', 'policies');
      return call(key, 'GET', 'provenance/export');
    },
    end: [403, 'scope_missing'],
  },
];

let app: TestApp;

async function asked(key: string, { bot }: Company, body: object, call: Send): Promise<Answer> {
  const action = { action: 'refund', resourceType: 'payment', parameters: { amount: 80 } };
  return call(key, 'POST', `agents/${bot.name}/execute`, { ...action, ...body });
}

/** Each right, and the chains of calls by which somebody could mean to obtain it. */
describe('Rights cannot be obtained', () => {
  let number = 0;

  let folder: string;
  let tokens: Tokens;

  beforeAll(async () => {
    const tina = { iss: ISSUER, aud: 'governance', sub: 'tina' };
    const signed = await signedTokens(tina, { ...tina, aud: 'elsewhere' }, { ...tina, sub: 'sven' });
    const [hers = '', elsewhere = '', his = ''] = signed.tokens.map(({ ES256 }) => ES256 ?? '');
    tokens = { tina: hers, tinaElsewhere: elsewhere, sven: his };
    folder = mkdtempSync(join(tmpdir(), 'threats-'));
    const scopes = ['read', 'review'];
    const issuer = { issuer: ISSUER, audience: 'governance', jwks: 'keys.json', agents: ['role:auditing'], scopes };
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: signed.keys }));
    writeFileSync(join(folder, 'issuers.json'), JSON.stringify([issuer]));
    app = await createTestApp({ environment: { TOKEN_ISSUERS: join(folder, 'issuers.json') } });
    await requireApproval(app);
    await createAgent(app, { name: 'tina', kind: 'human', roles: ['auditing', 'finance'] });
    await createAgent(app, { name: 'sven', kind: 'human', roles: ['finance'] });
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
    rmSync(folder, { recursive: true });
  });

  const call: Send = (key, method, path, body, headers = {}) =>
    send(app, method, `/api/v1/${path}`, {
      ...(key.startsWith('eyJ') ? { key: null, headers: { Authorization: `Bearer ${key}` } } : { key, headers }),
      ...(body !== undefined && { body }),
    });

  async function scene(): Promise<Scene> {
    number += 1;
    return {
      people: await company(app, `-${number}`),
      place: { resourceId: `orders/${number}` },
      tokens,
      keyOf: async (agentId, ...scopes) =>
        (await issueKey(app, { scopes, ...(agentId !== null && { agentId }) })).secret,
    };
  }

  it.each(CHAINS)('$right: $holder $calls', async ({ walk, end: [status, reason] }) => {
    const answer = await walk(await scene(), call);
    expect([answer.status, answer.body.error.reason]).toEqual([status, reason]);
  });

  it('though each of the calls does what it should for whom it is for', async () => {
    const { people, place } = await scene();
    const waiting = (await ask(app, people.bot, place)).body;
    expect((await approve(app, waiting.decisionId, people.ann)).body.status).toBe('approved');
    expect((await send(app, 'POST', `${EXECUTIONS}/${waiting.id}/resume`)).body.outcome).toBe('authorized');
  });

  it('as docs/threats.md says', () => {
    const rows = CHAINS.map(({ right, holder, calls, end: [status, reason] }) => [
      right,
      holder,
      calls,
      reason === undefined ? String(status) : `${status} \`${reason}\``,
    ]);
    const table = markdownTable(['Right', 'Who tries', 'By which calls', 'The last is answered'], rows);
    expect(generatedSection(DOCUMENT, 'chains', table)).toBe(table);
  });
});
