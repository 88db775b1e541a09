import { pending } from '../../approvals/support';
import { createAgent, issueKey } from '../../support/application/factories';
import { type Answer, send } from '../../support/application/send';
import { type Chain } from './scene';

/** Chains that could lead to policies, roles, keys, or what others do. */
export const OTHER_CHAINS: readonly Chain[] = [
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
    walk: async ({ app, people, keyOf }, call) => {
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
    walk: async ({ app, people, keyOf }, call) => {
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
    walk: async ({ app, people, place }) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
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
