import { approved, DECISIONS, pending, requireApproval } from '../../approvals/support';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { requestRefund, type Chain } from './scene';

/** Chains that could lead to executing without a proper approval. */
export const EXECUTION_CHAINS: readonly Chain[] = [
  {
    right: "use another agent's approval",
    holder: "another agent's key, `execute` and `read`",
    calls: 'resumes the approved execution',
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, keyOf }, call) => {
      const thief = await createAgent(app, { name: `double of ${people.bot.name}`, capabilities: ['refund'] });
      return requestRefund(await keyOf(thief.id, 'execute'), people, { resourceId: 'orders/1' }, call);
    },
    end: [403, 'not_this_agent'],
  },
  {
    right: 'use an approval for more',
    holder: "another key of the agent, `execute`, which knows the other's `Idempotency-Key`",
    calls: 'repeats the resume of the other key',
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
      await approved(app, people, place);
      const key = await keyOf(people.bot.id, 'execute');
      const other = await requestRefund(key, people, { ...place, parameters: { amount: 8000 } }, call);
      expect(other.status).toBe(202);
      return call(key, 'POST', `executions/${other.body.id}/resume`);
    },
    end: [409],
  },
  {
    right: 'use an approval for more',
    holder: "the agent's key, `execute`",
    calls: 'names the same resource in another spelling: it waits for an approval of its own, and cannot be resumed',
    walk: async ({ app, people, place: { resourceId } }, call) => {
      await approved(app, people, { resourceId });
      const { secret: key } = await issueKey(app, { agentId: people.bot.id, scopes: ['execute'] });
      const other = await requestRefund(key, people, { resourceId: `/${resourceId}` }, call);
      expect([other.status, other.body.outcome]).toEqual([202, 'pending_approval']);
      return call(key, 'POST', `executions/${other.body.id}/resume`);
    },
    end: [409],
  },
  {
    right: 'use an approval for more',
    holder: "the agent's key, `execute`",
    calls: 'resumes after the policy names another group',
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
      const { decisionId } = await pending(app, people.bot, place);
      await send(app, 'POST', `${DECISIONS}/${decisionId}/reject`, { body: { approverId: people.ann.id } });
      return requestRefund(await keyOf(people.bot.id, 'execute'), people, place, call);
    },
    end: [403, 'approval_rejected'],
  },
  {
    right: 'execute without an approval',
    holder: "the agent's key, `execute` and `propose`",
    calls: 'proposes a decision for its execution with approvers of its own choice',
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
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
    walk: async ({ app, people, place, keyOf }, call) => {
      const rule = { actions: ['refund'], resources: [place.resourceId], priority: 5 };
      await createPolicy(app, rule);
      const conditions = [{ parameter: '/amount', op: 'gt', value: 50 }];
      await createPolicy(app, { ...rule, effect: 'deny', conditions });
      const key = await keyOf(people.bot.id, 'execute');
      const under = await requestRefund(key, people, { ...place, parameters: { amount: 50 } }, call);
      expect(under.body.outcome).toBe('authorized');
      for (const parameters of [{}, { amount: null }, { Amount: 1 }, { amount: ['1'] }])
        expect((await requestRefund(key, people, { ...place, parameters }, call)).status).toBe(403);
      return requestRefund(key, people, { ...place, parameters: { amount: '1' } }, call);
    },
    end: [403, 'policy_denied'],
  },
];
