import { Injectable, Module } from '@nestjs/common';
import { ActionFailure } from '../../src/governance/executions/handlers/action-handlers';
import { ActionGuard, type GuardedAction } from '../../src/governance/permissions/action-guards';
import { approve, ask, company, execution, pending, resume, REFUND, requireApproval } from '../approvals/support';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createPolicy } from '../support/application/factories';
import { send, type Answer } from '../support/application/send';
import { stageOf } from '../support/application/stage';

const guardedActions: GuardedAction[] = [];
const refusals: Record<string, () => unknown> = {
  refuse: () => 'The budget of the month is spent.',
  promise: () => Promise.resolve(null),
  blank: () => ' ',
  nothing: () => undefined,
  fail: () => {
    throw new Error('cannot open /etc/secret.key');
  },
};
let refusing: string | null = null;

@Injectable()
class Budget {
  private readonly guarded = 'payment';

  @ActionGuard('budget')
  check(action: GuardedAction): string | null {
    if (action.resourceType !== this.guarded) return null;
    guardedActions.push(action);
    const answer = (refusing === null ? null : refusals[refusing]?.()) as string | null;
    Object.assign(action.parameters, { amount: 0 });
    return answer;
  }
}

@Module({ providers: [Budget] })
class BudgetModule {}

describe('An action guard of an extension', () => {
  const stage = stageOf(async () => {
    const app = await createTestApp({ modules: [BudgetModule] });
    const people = await company(app);
    await createPolicy(app, { name: 'small', actions: ['refund'], resources: ['orders/*'] });
    await requireApproval(app, {}, { resources: ['large/*'], priority: 1 });
    await createPolicy(app, { effect: 'deny', actions: ['refund'], resources: ['denied/*'], priority: 2 });
    return { app, people };
  });
  beforeEach(() => {
    guardedActions.length = 0;
    refusing = null;
  });
  afterEach(() => chainIsValid(stage.app));

  function evaluate(app: TestApp, body: object = {}): Promise<Answer> {
    const question = { agent: 'bot', ...REFUND, ...body };
    return send(app, 'POST', '/api/v1/policies/evaluate', { body: question });
  }

  it('sees the request and the verdict, and leaves both as they are', async () => {
    const { status, body } = await ask(stage.app, stage.people.bot);
    expect(status).toBe(200);
    expect(body).toMatchObject({ outcome: 'authorized', parameters: { amount: 80 }, policies: [{ name: 'small' }] });
    expect(guardedActions).toEqual([
      {
        ...REFUND,
        parameters: { amount: 0 },
        ...{ agentId: stage.people.bot.id, agentName: 'bot', verdict: 'allow', onBehalfOf: null, run: null },
        policies: [expect.objectContaining({ name: 'small', effect: 'allow' })],
      },
    ]);
  });

  it('sees on whose behalf it is, and in which run', async () => {
    const behalf = { onBehalfOf: { subject: 'user:4711', roles: ['vip'] }, run: 'chat 7' };
    await ask(stage.app, stage.people.bot, behalf);
    await evaluate(stage.app, behalf);
    expect(guardedActions).toEqual([expect.objectContaining(behalf), expect.objectContaining(behalf)]);
  });

  it('refuses what is allowed, by name, on the record, and in evaluate', async () => {
    refusing = 'refuse';
    const { status, body } = await ask(stage.app, stage.people.bot);
    expect(status).toBe(403);
    const message = 'The extension "budget" refused this: The budget of the month is spent.';
    expect(body.error).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'extension_refused', message });
    const [denied] = (await send(stage.app, 'GET', '/api/v1/executions?outcome=denied&order=desc&limit=1')).body.data;
    expect(denied).toMatchObject({ reason: 'extension_refused', failureReason: message, policies: [] });
    expect(await auditOf(stage.app, denied.id)).toEqual([
      expect.objectContaining({ action: 'execution.denied', outcome: 'denied', reason: 'extension_refused' }),
    ]);
    expect((await evaluate(stage.app)).body).toMatchObject({ effect: 'deny', reason: 'extension_refused' });
    refusing = null;
    expect((await evaluate(stage.app)).body).toMatchObject({ effect: 'allow', reason: null });
  });

  it('is not called for an action that policies deny, and cannot allow it', async () => {
    expect((await ask(stage.app, stage.people.bot, { resourceId: 'denied/1' })).body.error.code).toBe('POLICY_DENIED');
    expect((await ask(stage.app, stage.people.ann)).body.error.reason).toBe('capability_missing');
    expect(guardedActions).toEqual([]);
  });

  it('refuses before an approval is requested, at the resume, and for a repeated key', async () => {
    const place = { resourceId: 'large/1' };
    refusing = 'refuse';
    expect((await ask(stage.app, stage.people.bot, place)).body.error.reason).toBe('extension_refused');
    refusing = null;
    const { id, decisionId } = await pending(stage.app, stage.people.bot, place);
    expect(guardedActions.at(-1)).toMatchObject({ verdict: 'require_approval' });
    await approve(stage.app, decisionId, stage.people.ann);
    refusing = 'refuse';
    expect((await resume(stage.app, id)).body.error.reason).toBe('extension_refused');
    expect((await execution(stage.app, id)).outcome).toBe('approved');
    refusing = null;
    const key = { 'Idempotency-Key': 'once' };
    expect((await resume(stage.app, id, key)).status).toBe(200);
    refusing = 'refuse';
    expect((await resume(stage.app, id, key)).body.error.reason).toBe('extension_refused');
  });

  it.each(['promise', 'blank', 'nothing', 'fail'])('that answers with a %s fails the request', async (what) => {
    const before = (await send(stage.app, 'GET', '/api/v1/executions')).body.total;
    refusing = what;
    const { status, text } = await ask(stage.app, stage.people.bot);
    expect(status).toBe(500);
    expect(text).not.toMatch(/secret/);
    expect((await send(stage.app, 'GET', '/api/v1/executions')).body.total).toBe(before);
  });
});

describe('The code of an ActionFailure', () => {
  it('is lower-case, as all reasons are', () => {
    expect(new ActionFailure('Full.', 'MAILBOX_FULL').code).toBe('mailbox_full');
    expect(new ActionFailure('Full.', 'mailbox_full').code).toBe('mailbox_full');
    expect(new ActionFailure('Full.').code).toBeNull();
    for (const code of ['mailbox-full', '', '1st', 'ü'])
      expect(() => new ActionFailure('Full.', code)).toThrow(/must match/);
  });
});
