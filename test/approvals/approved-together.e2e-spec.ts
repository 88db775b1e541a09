import type { ExecutionResponse } from '../../src/governance/executions/dto/execution.dto';
import { auditOf, chainIsValid, createPolicy, issueKey, propose } from '../support/application/factories';
import { type Answer, faults, send } from '../support/application/send';
import { approvalStage, approve, DECISIONS, order, pending, reject } from './support';

describe('Decisions that are approved together', () => {
  const stage = approvalStage();

  interface DecisionReference {
    readonly id: unknown;
    readonly actionHash: unknown;
  }

  function approveTogether(
    decisions: readonly DecisionReference[],
    more: object = {},
    sent: object = {},
  ): Promise<Answer> {
    const body = { decisions, approverId: stage.people.ann.id, ...more };
    return send(stage.app, 'POST', `${DECISIONS}/approve`, { body, ...sent });
  }

  function waiting(): Promise<ExecutionResponse> {
    return pending(stage.app, stage.people.bot, order());
  }

  const seen = ({ decisionId: id, actionHash }: ExecutionResponse): DecisionReference => ({ id, actionHash });

  async function head(): Promise<number> {
    return (await send(stage.app, 'GET', '/api/v1/audit?limit=1')).body.data[0].sequence;
  }

  async function entriesAfter(sequence: number): Promise<{ action: string; subjectId: string }[]> {
    const { body } = await send(stage.app, 'GET', '/api/v1/audit?order=asc&limit=1000');
    return body.data.filter((entry: { sequence: number }) => entry.sequence > sequence);
  }

  it('are answered in the order of the request, each as approving it alone answers, in one commit', async () => {
    const { app, people } = stage;
    const plain = await propose(app, people.bot.id, { riskLevel: 'low' });
    const [first, second] = [await waiting(), await waiting()];
    const items = [seen(second), { id: plain.id, actionHash: null }, seen(first)];
    const { status, body } = await approveTogether(items, { comment: 'The run of this morning.' });
    expect([status, body.total]).toEqual([200, 3]);
    expect(body.data.map(({ id }: DecisionReference) => id)).toEqual(items.map(({ id }) => id));
    const times = new Set<string>();
    for (const decision of body.data) {
      expect(decision).toMatchObject({ status: 'approved', reviews: [{ comment: 'The run of this morning.' }] });
      expect((await send(app, 'GET', `${DECISIONS}/${decision.id}`)).body).toEqual(decision);
      times.add(decision.resolvedAt);
    }
    expect(times.size).toBe(1);
    expect((await send(app, 'GET', `/api/v1/executions/${first.id}`)).body.outcome).toBe('approved');
    await chainIsValid(app);
  });

  const FAULTS: Record<string, () => Promise<[fault: DecisionReference, status: number, left: readonly string[]]>> = {
    'an unknown one': async () => [{ id: 'dec_none', actionHash: null }, 404, []],
    'another action': async () => [{ ...seen(await waiting()), actionHash: 'a'.repeat(64) }, 409, []],
    'an action where there is none': async () => {
      const { id } = await propose(stage.app, stage.people.bot.id);
      return [{ id, actionHash: 'a'.repeat(64) }, 409, []];
    },
    'no action where there is one': async () => [{ ...seen(await waiting()), actionHash: null }, 409, []],
    'one that is settled': async () => {
      const execution = await waiting();
      await reject(stage.app, execution.decisionId, stage.people.ben);
      return [seen(execution), 409, []];
    },
    'one that the reviewer proposed': async () => {
      const { id } = await propose(stage.app, stage.people.ann.id);
      return [{ id, actionHash: null }, 403, ['decision.approval_denied']];
    },
    'one that a policy forbids': async () => {
      const type = 'forbidden';
      const resources = [`decisions/low/${type}`];
      await createPolicy(stage.app, { effect: 'deny', actions: ['decision:approve'], resources });
      const { id } = await propose(stage.app, stage.people.bot.id, { type });
      return [{ id, actionHash: null }, 403, ['decision.approval_denied']];
    },
    'one that names other approvers': async () => {
      const approvers = [{ subjects: ['role:security'] }];
      const { id } = await propose(stage.app, stage.people.bot.id, { approvers });
      return [{ id, actionHash: null }, 403, ['decision.approval_denied']];
    },
  };

  it.each(Object.keys(FAULTS))('%s: is the answer, and nothing else happens', async (name) => {
    const [before, after] = [await waiting(), await waiting()];
    const [fault, status, left] = (await FAULTS[name]?.()) ?? [{ id: '', actionHash: null }, 0, []];
    const sequence = await head();
    const alsoFaulty = { id: 'dec_later', actionHash: null };
    const answer = await approveTogether([seen(before), fault, alsoFaulty, seen(after)]);
    expect(answer.status).toBe(status);
    const entries = await entriesAfter(sequence);
    expect(entries.map(({ action, subjectId }) => [action, subjectId])).toEqual(left.map((each) => [each, fault.id]));
    for (const { decisionId } of [before, after])
      expect((await send(stage.app, 'GET', `${DECISIONS}/${String(decisionId)}`)).body.status).toBe('proposed');
  });

  it('the same refusal is recorded as when it is approved alone', async () => {
    const { app, people } = stage;
    const { id } = await propose(app, people.ann.id);
    const alone = await approve(app, id, people.ann);
    const answer = await approveTogether([seen(await waiting()), { id, actionHash: null }]);
    expect(answer.body.error).toMatchObject({ reason: alone.body.error.reason, message: alone.body.error.message });
    const [first, second] = (await auditOf(app, id)).slice(1);
    expect(second?.details).toEqual(first?.details);
  });

  it('a caller that may not decide about an execution is refused as ever, with nothing approved', async () => {
    const { app, people } = stage;
    const unbound = (await issueKey(app, { scopes: ['review'] })).secret;
    const plain = await propose(app, people.bot.id);
    const items = [{ id: plain.id, actionHash: null }, seen(await waiting())];
    const answer = await approveTogether(items, {}, { key: unbound });
    expect([answer.status, answer.body.error.reason]).toEqual([403, 'reviewer_not_bound']);
    expect((await send(app, 'GET', `${DECISIONS}/${plain.id}`)).body.status).toBe('proposed');
    const bens = (await issueKey(app, { scopes: ['review'], agentId: people.ben.id })).secret;
    const foreign = await approveTogether(items, {}, { key: bens });
    expect([foreign.status, foreign.body.error.reason]).toEqual([403, 'not_this_agent']);
    const own = await approveTogether(items, { approverId: null }, { key: bens });
    expect([own.status, own.body.total]).toEqual([200, 2]);
  });

  it('is answered once for an Idempotency-Key', async () => {
    const items = [seen(await waiting()), seen(await waiting())];
    const headers = { 'idempotency-key': 'together-1' };
    const first = await approveTogether(items, {}, { headers });
    expect(first.status).toBe(200);
    const again = await approveTogether(items, {}, { headers });
    expect([again.status, again.body]).toEqual([200, first.body]);
  });

  it('of two that race for the same decision one gets all of it, the other nothing', async () => {
    const [shared, own, other] = [await waiting(), await waiting(), await waiting()];
    const { ann, ben } = stage.people;
    const answers = await Promise.all([
      approveTogether([seen(own), seen(shared)], { approverId: ann.id }),
      approveTogether([seen(other), seen(shared)], { approverId: ben.id }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const statuses = await Promise.all(
      [own, other].map(
        async ({ decisionId }) => (await send(stage.app, 'GET', `${DECISIONS}/${String(decisionId)}`)).body.status,
      ),
    );
    expect(statuses.sort()).toEqual(['approved', 'proposed']);
  });

  it('have actions of at most four MiB together', async () => {
    const parameters = { text: 'x'.repeat(900_000) };
    const items: DecisionReference[] = [];
    for (let made = 0; made < 5; made += 1)
      items.push(seen(await pending(stage.app, stage.people.bot, { ...order(), parameters })));
    const before = await head();
    const { status, body } = await approveTogether(items);
    expect([status, body.error.message]).toEqual([409, expect.stringContaining('Approve fewer')]);
    expect(await entriesAfter(before)).toEqual([]);
    expect((await approveTogether(items.slice(1))).status).toBe(200);
    expect((await approveTogether(items.slice(0, 1))).status).toBe(200);
  });

  it('takes 1 to 50 different ones, each with its action', async () => {
    const [one, other] = [{ id: 'dec_1', actionHash: null }, { id: 'dec_2' }];
    const many = Array.from({ length: 51 }, (_, index) => ({ id: `dec_${index}`, actionHash: null }));
    for (const [decisions, field] of [
      [[], 'decisions'],
      [many, 'decisions'],
      [[one, one], 'decisions[1]'],
      [[one, other], 'decisions[1].actionHash'],
      [[{ ...one, actionHash: 'A'.repeat(64) }], 'decisions[0].actionHash'],
      [[{ ...one, actionHash: ['a'.repeat(64)] }], 'decisions[0].actionHash'],
      [[{ ...one, grant: null }], 'decisions[0].grant'],
      [['dec_1'], 'decisions[0]'],
      [[null], 'decisions[0]'],
      ['dec_1', 'decisions'],
    ] as const) {
      const answer = await approveTogether(decisions as unknown as DecisionReference[]);
      expect([answer.status, Object.keys(faults(answer))]).toEqual([400, [field]]);
    }
    expect(Object.keys(faults(await approveTogether([one], { grant: { for: 'PT1H' } })))).toEqual(['grant']);
    expect((await send(stage.app, 'GET', `${DECISIONS}/approve`)).status).toBe(404);
  });
});
