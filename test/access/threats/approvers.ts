import { pending, requireApproval } from '../../approvals/support';
import { createAgent } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { requestRefund, type Chain } from './scene';

const PERSON = { name: 'sock-puppet', kind: 'human', roles: ['finance'] };

/** Chains that could lead to approving. */
export const APPROVER_CHAINS: readonly Chain[] = [
  {
    right: 'approve what one asks for',
    holder: "the agent's key, `execute` and `review`",
    calls: 'asks, then approves as itself',
    walk: async ({ people, place, keyOf }, call) => {
      const key = await keyOf(people.bot.id, 'execute', 'review');
      const { decisionId } = (await requestRefund(key, people, place, call)).body;
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
      const { decisionId } = (await requestRefund(key, people, place, call)).body;
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
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
      const { decisionId } = await pending(app, people.bot, place);
      return call(await keyOf(people.eve.id, 'review'), 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [403, 'not_an_approver'],
  },
  {
    right: 'be an approver',
    holder: "a person's key, `review`",
    calls: 'approves after the role was taken away',
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, tokens: { tinaElsewhere } }, call) => {
      const { decisionId } = await pending(app, people.bot, place);
      return call(tinaElsewhere, 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [401],
  },
  {
    right: 'be an approver',
    holder: 'a token of a person for whom the identity provider may not speak',
    calls: 'approves',
    walk: async ({ app, people, place, tokens: { sven } }, call) => {
      const { decisionId } = await pending(app, people.bot, place);
      return call(sven, 'POST', `decisions/${decisionId}/approve`, {});
    },
    end: [403, 'agent_unknown'],
  },
  {
    right: 'be an approver',
    holder: "a person's token with `review`",
    calls: 'approves as another person of finance',
    walk: async ({ app, people, place, tokens: { tina } }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf, tokens: { tina } }, call) => {
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
];
