import { createTestApp } from '../support/application/create-test-app';
import { actionsOf, auditOf, createAgent, propose } from '../support/application/factories';
import { faults, send } from '../support/application/send';
import { DECISIONS, reviewStage } from './reviewers';

describe('Reviews of decisions', () => {
  const { stage, reviewed, approve, read } = reviewStage();

  /** Brings a decision of medium risk, which needs two approvals, into the given state. */
  const STATES: Record<string, () => Promise<string>> = {
    proposed: async () => (await propose(stage.app, stage.proposer.id, { riskLevel: 'medium' })).id,
    'approved once': async () => {
      const id = await reach('proposed');
      await approve(id, stage.second.id);
      return id;
    },
    approved: async () => {
      const id = await reach('approved once');
      await approve(id, (await createAgent(stage.app, { name: `third for ${id}` })).id);
      return id;
    },
    rejected: async () => {
      const id = await reach('proposed');
      await reviewed(id, 'reject', { approverId: stage.second.id });
      return id;
    },
    expired: async () => {
      const expiresAt = new Date(Date.now() + 2_000).toISOString();
      const { id } = await propose(stage.app, stage.proposer.id, { riskLevel: 'medium', expiresAt });
      while ((await read(id)).status !== 'expired') await new Promise((resolve) => setTimeout(resolve, 25));
      return id;
    },
  };

  async function reach(state: string): Promise<string> {
    const make = STATES[state];
    if (make === undefined) throw new Error(`There is no state ${state}.`);
    return make();
  }

  const REVIEWS: Record<string, () => [verdict: string, body?: object]> = {
    'approve by an agent': () => ['approve', { approverId: stage.approver.id }],
    'approve by the one that approved': () => ['approve', { approverId: stage.second.id }],
    'approve by the proposer': () => ['approve', { approverId: stage.proposer.id }],
    'approve by a suspended agent': () => ['approve', { approverId: stage.suspended.id }],
    'approve by nobody': () => ['approve', { approverId: 'nobody' }],
    'reject by an agent': () => ['reject', { approverId: stage.approver.id }],
    'reject by the one that approved': () => ['reject', { approverId: stage.second.id }],
    'reject by the proposer': () => ['reject', { approverId: stage.proposer.id }],
    'reject by a suspended agent': () => ['reject', { approverId: stage.suspended.id }],
    'reject by nobody': () => ['reject', { approverId: 'nobody' }],
    'reject by the holder of the key': () => ['reject'],
  };

  const SETTLED = Object.fromEntries(
    Object.keys(REVIEWS).map((name) => [name, name.endsWith('nobody') ? [400, 'same'] : [409, 'same']]),
  ) as Record<string, [status: number, becomes: string]>;

  const TRANSITIONS: Record<string, Record<string, [status: number, becomes: string]>> = {
    proposed: {
      'approve by an agent': [200, 'proposed'],
      'approve by the one that approved': [200, 'proposed'],
      'approve by the proposer': [403, 'same'],
      'approve by a suspended agent': [403, 'same'],
      'approve by nobody': [400, 'same'],
      'reject by an agent': [200, 'rejected'],
      'reject by the one that approved': [200, 'rejected'],
      'reject by the proposer': [200, 'rejected'],
      'reject by a suspended agent': [403, 'same'],
      'reject by nobody': [400, 'same'],
      'reject by the holder of the key': [200, 'rejected'],
    },
    'approved once': {
      'approve by an agent': [200, 'approved'],
      'approve by the one that approved': [409, 'same'],
      'approve by the proposer': [403, 'same'],
      'approve by a suspended agent': [403, 'same'],
      'approve by nobody': [400, 'same'],
      'reject by an agent': [200, 'rejected'],
      'reject by the one that approved': [409, 'same'],
      'reject by the proposer': [200, 'rejected'],
      'reject by a suspended agent': [403, 'same'],
      'reject by nobody': [400, 'same'],
      'reject by the holder of the key': [200, 'rejected'],
    },
    approved: SETTLED,
    rejected: SETTLED,
    expired: SETTLED,
  };

  const CASES = Object.entries(TRANSITIONS).flatMap(([state, answers]) =>
    Object.entries(answers).map(([event, [status, becomes]]) => ({ state, event, status, becomes })),
  );

  it.each(CASES)(
    '$state: $event is answered with $status, and the decision is $becomes',
    async ({ state, event, status, becomes }) => {
      const id = await reach(state);
      const before = await read(id);
      const entries = (await auditOf(stage.app, id)).length;
      const [verdict, body] = REVIEWS[event]?.() ?? [''];
      const answer = await reviewed(id, verdict, body);
      expect(answer.status).toBe(status);
      const after = await read(id);
      if (becomes === 'same') expect(after).toEqual(before);
      else expect(after).toEqual(answer.body);
      expect(after.status).toBe(becomes === 'same' ? before.status : becomes);
      expect((await auditOf(stage.app, id)).length - entries).toBe(status === 200 || status === 403 ? 1 : 0);
    },
  );

  it.each([
    ['low', 1],
    ['medium', 2],
    ['high', 3],
    ['critical', 1],
  ])('of %s risk approve at the approval number %i, not before', async (riskLevel, needed) => {
    const { id } = await propose(stage.app, stage.proposer.id, { riskLevel });
    const expected = [];
    for (let count = 1; count <= needed; count += 1) {
      expect((await read(id)).status).toBe('proposed');
      const agent = await createAgent(stage.app, { name: `${riskLevel} ${count}` });
      const answer = await reviewed(id, 'approve', { approverId: agent.id, comment: `number ${count}` });
      expected.push({
        approverId: agent.id,
        verdict: 'approve',
        comment: `number ${count}`,
        createdAt: answer.body.updatedAt,
        groups: null,
      });
      expect(answer.body.reviews).toEqual(expected);
      expect(answer.body.status).toBe(count === needed ? 'approved' : 'proposed');
      expect(answer.body.resolvedAt).toBe(count === needed ? answer.body.updatedAt : null);
    }
    expect(await actionsOf(stage.app, id)).toEqual([
      'decision.proposed',
      ...Array.from({ length: needed - 1 }, () => 'decision.reviewed'),
      'decision.approved',
    ]);
  });

  it('keep an optional comment', async () => {
    const comments = [undefined, null, '', ' ', '😀'.repeat(2000)];
    for (const comment of comments) {
      const { id } = await propose(stage.app, stage.proposer.id);
      const { body } = await reviewed(id, 'approve', { approverId: stage.approver.id, comment });
      expect(body.reviews[0].comment).toBe(comment ?? null);
    }
  });

  it('that reject accept reason in place of comment', async () => {
    for (const [body, comment] of [
      [{ reason: 'Too risky.' }, 'Too risky.'],
      [{ comment: 'Too risky.', reason: null }, 'Too risky.'],
      [{}, null],
      [undefined, null],
    ] as const) {
      const { id } = await propose(stage.app, stage.proposer.id);
      const answer = await reviewed(id, 'reject', body);
      expect(answer.body.reviews).toEqual([
        { approverId: null, verdict: 'reject', comment, createdAt: answer.body.resolvedAt, groups: null },
      ]);
    }
  });

  it.each<[verdict: string, body: object | undefined, expected: object]>([
    ['approve', undefined, { approverId: 'is required' }],
    ['approve', { approverId: null }, { approverId: 'must be a string' }],
    ['approve', { approverId: '' }, { approverId: 'must not be blank' }],
    ['approve', { approverId: 'x', comment: 'c'.repeat(2001) }, { comment: 'must have at most 2000 characters' }],
    ['approve', { approverId: 'x', reason: 'r' }, { reason: expect.stringContaining('is not known here') }],
    ['reject', { comment: 1 }, { comment: 'must be a string' }],
    ['reject', { reason: 'r'.repeat(2001) }, { reason: 'must have at most 2000 characters' }],
    ['reject', { comment: 'c', reason: 'r' }, { reason: 'is an alias of comment; give only one of them' }],
    ['reject', { approver: 'x' }, { approver: expect.stringContaining('is not known here') }],
  ])('to %s refuse %j with 400', async (verdict, body, expected) => {
    const { id } = await propose(stage.app, stage.proposer.id);
    const answer = await reviewed(id, verdict, body);
    expect(answer.status).toBe(400);
    expect(faults(answer)).toEqual(expected);
    expect((await read(id)).status).toBe('proposed');
  });

  it('are checked in this order: fields, decision, approver, state, permission', async () => {
    const { id } = await propose(stage.app, stage.proposer.id);
    await reviewed(id, 'reject');
    expect((await reviewed('dec_none', 'approve', { approverId: 1 })).status).toBe(400);
    expect((await reviewed('dec_none', 'approve', { approverId: 'nobody' })).status).toBe(404);
    expect((await reviewed(id, 'approve', { approverId: 'nobody' })).status).toBe(400);
    expect((await reviewed(id, 'approve', { approverId: stage.proposer.id })).status).toBe(409);
    expect((await reviewed(id, 'approve', { approverId: stage.suspended.id })).status).toBe(409);
  });

  it.each(['approve', 'reject'])('take the agent that %ss by its name as well, and record its id', async (verdict) => {
    const { id } = await propose(stage.app, stage.proposer.id, { riskLevel: 'medium' });
    const answer = await reviewed(id, verdict, { approverId: 'approver' });
    expect(answer).toMatchObject({ status: 200, body: { reviews: [{ approverId: stage.approver.id, verdict }] } });
    if (verdict === 'approve') expect((await approve(id, stage.approver.id)).status).toBe(409);
    const faulty = await reviewed(id, verdict, { approverId: 'nobody' });
    expect(faults(faulty)).toEqual({ approverId: 'must be the id or the name of an existing agent' });
    expect((await auditOf(stage.app, id)).at(-1)?.agentId).toBe(stage.approver.id);
  });

  it('by the proposer under its name are recognised as self-approval', async () => {
    const { id } = await propose(stage.app, 'proposer');
    expect(await approve(id, 'proposer')).toMatchObject({ status: 403, body: { error: { reason: 'self_approval' } } });
    expect((await auditOf(stage.app, id)).at(-1)).toMatchObject({
      agentId: stage.proposer.id,
      action: 'decision.approval_denied',
    });
  });

  describe('that are refused', () => {
    it('name self-approval and the setting that would allow it', async () => {
      const { id } = await propose(stage.app, stage.proposer.id);
      const answer = await approve(id, stage.proposer.id);
      expect(answer).toMatchObject({
        status: 403,
        body: {
          error: {
            code: 'PERMISSION_DENIED',
            reason: 'self_approval',
            message: expect.stringContaining('ALLOW_SELF_APPROVAL'),
          },
        },
      });
      expect((await auditOf(stage.app, id)).at(-1)).toMatchObject({
        action: 'decision.approval_denied',
        actor: { type: 'api_key', id: 'env' },
        agentId: stage.proposer.id,
        outcome: 'denied',
        reason: 'self_approval',
        details: { verdict: 'approve', policies: [] },
        requestId: answer.headers.get('x-request-id'),
      });
    });

    it.each([
      ['approve', 'decision.approval_denied'],
      ['reject', 'decision.rejection_denied'],
    ])('name the suspension of who would %s', async (verdict, action) => {
      const { id } = await propose(stage.app, stage.proposer.id);
      expect(await reviewed(id, verdict, { approverId: stage.suspended.id })).toMatchObject({
        status: 403,
        body: { error: { code: 'PERMISSION_DENIED', reason: 'agent_suspended' } },
      });
      expect((await auditOf(stage.app, id)).at(-1)).toMatchObject({
        action,
        agentId: stage.suspended.id,
        outcome: 'denied',
        reason: 'agent_suspended',
        details: { verdict, policies: [] },
      });
    });

    it('cannot approve what a suspended agent has proposed until it is resumed, but may reject it', async () => {
      const agent = await createAgent(stage.app, { name: 'proposer on leave' });
      const [first, second] = [await propose(stage.app, agent.id), await propose(stage.app, agent.id)];
      await send(stage.app, 'POST', `/api/v1/agents/${agent.id}/suspend`);
      const refused = await approve(first.id, stage.approver.id);
      expect(refused).toMatchObject({
        status: 403,
        body: { error: { code: 'PERMISSION_DENIED', reason: 'agent_suspended' } },
      });
      expect(refused.body.error.message).toContain('"proposer on leave"');
      expect((await auditOf(stage.app, first.id)).at(-1)).toMatchObject({
        action: 'decision.approval_denied',
        agentId: stage.approver.id,
        reason: 'agent_suspended',
        details: { verdict: 'approve', policies: [] },
      });
      expect((await read(first.id)).status).toBe('proposed');
      expect((await approve(first.id, agent.id)).body.error.reason).toBe('self_approval');
      expect((await reviewed(second.id, 'reject', { approverId: stage.approver.id })).body.status).toBe('rejected');
      await send(stage.app, 'POST', `/api/v1/agents/${agent.id}/resume`);
      expect((await approve(first.id, stage.approver.id)).body.status).toBe('approved');
    });

    it('are possible again once the agent is resumed', async () => {
      const agent = await createAgent(stage.app, { name: 'on leave' });
      await send(stage.app, 'POST', `/api/v1/agents/${agent.id}/suspend`);
      const { id } = await propose(stage.app, stage.proposer.id);
      expect((await approve(id, agent.id)).status).toBe(403);
      await send(stage.app, 'POST', `/api/v1/agents/${agent.id}/resume`);
      expect((await approve(id, agent.id)).body.status).toBe('approved');
    });
  });

  describe('that race', () => {
    it('settle a decision once: of 20 approvals and rejections one is 200, the others 409', async () => {
      const agents = await Promise.all(
        Array.from({ length: 20 }, (_unused, index) => createAgent(stage.app, { name: `racer ${index}` })),
      );
      const { id } = await propose(stage.app, stage.proposer.id);
      const answers = await Promise.all(
        agents.map((agent, index) => reviewed(id, index % 2 === 0 ? 'approve' : 'reject', { approverId: agent.id })),
      );
      const winners = answers.filter(({ status }) => status === 200);
      expect(winners).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
      expect(await read(id)).toEqual(winners[0]?.body);
      expect((await read(id)).reviews).toHaveLength(1);
      expect(await actionsOf(stage.app, id)).toHaveLength(2);
    });

    it('count each approver once', async () => {
      const { id } = await propose(stage.app, stage.proposer.id, { riskLevel: 'high' });
      const answers = await Promise.all(Array.from({ length: 10 }, () => approve(id, stage.approver.id)));
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
      expect((await read(id)).reviews).toHaveLength(1);
    });

    it('approve it with exactly as many approvals as are needed', async () => {
      const agents = await Promise.all(
        Array.from({ length: 8 }, (_unused, index) => createAgent(stage.app, { name: `voter ${index}` })),
      );
      const { id } = await propose(stage.app, stage.proposer.id, { riskLevel: 'high' });
      const answers = await Promise.all(agents.map((agent) => approve(id, agent.id)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
      expect(await read(id)).toMatchObject({ status: 'approved', reviews: { length: 3 } });
    });
  });
});

describe('ALLOW_SELF_APPROVAL=true', () => {
  it('lets the proposer approve its own decision', async () => {
    const app = await createTestApp({ environment: { ALLOW_SELF_APPROVAL: 'true' } });
    try {
      const { id: approverId } = await createAgent(app, { name: 'alone' });
      const { id } = await propose(app, approverId);
      const answer = await send(app, 'POST', `${DECISIONS}/${id}/approve`, { body: { approverId } });
      expect(answer).toMatchObject({ status: 200, body: { status: 'approved' } });
    } finally {
      await app.close();
    }
  });
});
