import { setTimeout as sleep } from 'node:timers/promises';
import type { GovernanceClient, GovernanceError } from '../../../clients/typescript/src/index.js' with {
  'resolution-mode': 'import',
};
import { approve, execution, EXECUTIONS, reject, requireApproval, type Company } from '../../approvals/support';
import { API_KEY } from '../../support/application/api-key';
import type { TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { openTcpGate } from '../../support/application/tcp-gate';
import type { builtClient } from '../typescript-client';
import { errorOf, openClientStage } from './client-stage';

const REFUND = { action: 'refund', resourceType: 'payment', parameters: { amount: 80 } };
const SEND = { action: 'send', resourceType: 'mail', resourceId: 'mails/1' };

describeOnSqlite('The guard of the TypeScript client', () => {
  let module: Awaited<ReturnType<typeof builtClient>>;
  let app: TestApp;
  let people: Company;
  let operator: GovernanceClient;
  let bot: GovernanceClient;
  let botKey: string;
  let orders = 0;

  beforeAll(async () => {
    ({ module, app, people, operator, bot, botKey } = await openClientStage());
  });
  afterAll(() => app.close());

  function order(): typeof REFUND & { resourceId: string } {
    orders += 1;
    return { ...REFUND, resourceId: `orders/${orders}` };
  }

  /** Waits for an execution that is pending approval, and returns it. */
  async function pendingFor(resourceId: string): Promise<{ id: string; decisionId: string }> {
    for (;;) {
      const { body } = await send(app, 'GET', `${EXECUTIONS}?resourceId=${resourceId}&outcome=pending_approval`);
      if (body.total > 0) return body.data[0];
      await sleep(20);
    }
  }

  it('runs an allowed function, and reports its result', async () => {
    expect(await bot.guard({ ...SEND, resourceId: 'mails/allowed' }, () => ({ sent: 3 }))).toEqual({ sent: 3 });
    const { body } = await send(app, 'GET', `${EXECUTIONS}?resourceId=mails/allowed`);
    expect(body.data).toEqual([expect.objectContaining({ outcome: 'executed', result: { sent: 3 } })]);
  });

  it.each([
    ['nothing', undefined],
    ['what JSON cannot carry', 1n],
  ])('reports a result that is %s as executed', async (name, result) => {
    const resourceId = `mails/${name.replaceAll(' ', '-')}`;
    expect(await bot.guard({ ...SEND, resourceId }, () => result)).toBe(result);
    const { body } = await send(app, 'GET', `${EXECUTIONS}?resourceId=${resourceId}`);
    expect(body.data[0].outcome).toBe('executed');
  });

  it('reports the error of the function, and rethrows it', async () => {
    const failing = bot.guard({ ...SEND, resourceId: 'mails/failing' }, () => {
      throw new RangeError('The mailbox is full.');
    });
    await expect(failing).rejects.toThrow(new RangeError('The mailbox is full.'));
    const { body } = await send(app, 'GET', `${EXECUTIONS}?resourceId=mails/failing`);
    expect(body.data[0]).toMatchObject({ outcome: 'failed', failureReason: 'The mailbox is full.' });
  });

  it('refuses parameters that JSON cannot carry, and asks nothing', async () => {
    const run = jest.fn();
    const call = bot.guard({ ...SEND, resourceId: 'mails/bigint', parameters: { amount: 1n } }, run);
    await expect(call).rejects.toThrow(TypeError);
    expect((await send(app, 'GET', `${EXECUTIONS}?resourceId=mails/bigint`)).body.data).toEqual([]);
    expect(run).not.toHaveBeenCalled();
  });

  it('reports that the function failed, even if what it throws cannot say why', async () => {
    const thrown: unknown = Object.create(null);
    const failing = bot.guard({ ...SEND, resourceId: 'mails/speechless' }, () => Promise.reject(thrown as Error));
    await expect(failing).rejects.toBe(thrown);
    const { body } = await send(app, 'GET', `${EXECUTIONS}?resourceId=mails/speechless`);
    expect(body.data[0]).toMatchObject({ outcome: 'failed', failureReason: 'It failed without a reason.' });
  });

  it('refuses a denied action before the function runs, and explains why', async () => {
    const run = jest.fn();
    const denied = await errorOf(bot.guard({ ...SEND, action: 'review' }, run));
    expect(denied).toMatchObject({ code: 'PERMISSION_DENIED', reason: 'capability_missing' });
    expect(denied.explanation).toMatchObject({ effect: 'deny', reason: 'capability_missing' });
    expect(run).not.toHaveBeenCalled();
  });

  it('says when nobody could approve it', async () => {
    const approval = { approvers: [{ subjects: ['role:board'] }] };
    const rules = { actions: ['refund'], resources: ['unfillable/*'], priority: 1, approval };
    await createPolicy(app, { ...rules, effect: 'require_approval' });
    const request = { ...order(), resourceId: 'unfillable/1' };
    const [nobody, feasibleError] = [
      await errorOf(bot.guard(request, jest.fn())),
      await errorOf(bot.guard(order(), jest.fn())),
    ];
    expect(nobody).toMatchObject({
      isFeasible: false,
      message: expect.stringContaining('Nobody, or too few, could'),
    });
    expect(feasibleError).toMatchObject({
      isFeasible: true,
      message: expect.stringMatching(/the decision dec_\w+\.$/),
    });
  });

  it('throws while an approval is pending, and continues the same request once it is given', async () => {
    const run = jest.fn(() => 'refunded');
    const request = order();
    const pending = await errorOf(bot.guard(request, run));
    expect(pending).toMatchObject({ name: 'ApprovalPendingError', code: 'APPROVAL_PENDING', isFirst: true });
    expect(await errorOf(bot.guard(request, run))).toMatchObject({ code: 'APPROVAL_PENDING', isFirst: false });
    const { decisionId } = await pendingFor(request.resourceId);
    expect(pending.message).toContain(decisionId);
    await approve(app, decisionId, people.ann);
    expect(await bot.guard(request, run)).toBe('refunded');
    expect(run).toHaveBeenCalledTimes(1);
    const { body } = await send(app, 'GET', `${EXECUTIONS}?resourceId=${request.resourceId}`);
    expect(body.data).toEqual([expect.objectContaining({ outcome: 'executed', result: 'refunded', decisionId })]);
  });

  it('waits for the approval', async () => {
    const request = order();
    const guarded = bot.guard(request, () => 'refunded', { wait: 60 });
    await approve(app, (await pendingFor(request.resourceId)).decisionId, people.ben);
    expect(await guarded).toBe('refunded');
  });

  it('never runs a rejected action', async () => {
    const request = order();
    const run = jest.fn();
    const guarded = bot.guard(request, run, { wait: 60 });
    const { id, decisionId } = await pendingFor(request.resourceId);
    const error = errorOf(guarded);
    await reject(app, decisionId, people.ann, 'Not\nnow.');
    const rejection = { comment: 'Not\nnow.', instead: null };
    expect(await error).toMatchObject({ reason: 'rejected', rejection });
    expect(String(await error)).toContain('The words of the reviewer who rejected it: "Not\\nnow."');
    expect((await error).explained()).toContain('The words of the reviewer who rejected it: "Not\\nnow."');
    expect((await execution(app, id)).outcome).toBe('rejected');
    expect(await errorOf(bot.guard(request, run))).toMatchObject({
      ...{ reason: 'approval_rejected', rejection },
    });
    expect(run).not.toHaveBeenCalled();
  });

  it('says what the reviewer would approve instead, which it may then do', async () => {
    const request = { ...order(), parameters: { amount: 900, note: 'x'.repeat(600) } };
    const error = errorOf(bot.guard(request, jest.fn(), { wait: 60 }));
    const { decisionId } = await pendingFor(request.resourceId);
    const parameters = { ...request.parameters, amount: 90 };
    const body = { approverId: people.ann.id, instead: { parameters } };
    await send(app, 'POST', `/api/v1/decisions/${decisionId}/reject`, { body });
    const instead = { parameters, grantId: expect.stringMatching(/^grt_/) };
    const expectedText = `What the reviewer would approve instead, which may be executed once: {"amount":90,"note":"${'x'.repeat(479)}… (cut)`;
    expect(await error).toMatchObject({ rejection: { comment: null, instead } });
    expect((await error).message).toContain(expectedText);
    expect((await errorOf(bot.guard(request, jest.fn()))).message).toContain(expectedText);
    expect(await bot.guard({ ...request, parameters }, ({ grantId }) => grantId)).toMatch(/^grt_/);
  });

  it('stops waiting when it is aborted', async () => {
    const request = order();
    const ending = new AbortController();
    const guarded = bot.guard(request, () => 'x', { wait: 60, signal: ending.signal });
    await pendingFor(request.resourceId);
    ending.abort(new Error('The conversation is over.'));
    await expect(guarded).rejects.toThrow('The conversation is over.');
  });

  /** A client whose signal is aborted as soon as its request to such a path has been sent. */
  function abortedAt(path: string, key: string): { client: GovernanceClient; signal: AbortSignal } {
    const ending = new AbortController();
    const sending: typeof fetch = async (address, request) => {
      const answer = fetch(address, request);
      if (typeof address === 'string' && address.endsWith(path)) ending.abort(new Error('Enough.'));
      return answer;
    };
    return { client: new module.GovernanceClient({ url: app.url, key, fetch: sending }), signal: ending.signal };
  }

  it.each(['execute', 'resume'])('reports what was aborted while it was authorised: %s', async (path) => {
    const request = path === 'resume' ? order() : { ...SEND, resourceId: 'mails/aborted' };
    if (path === 'resume') {
      await errorOf(bot.guard(request, () => 'x'));
      await approve(app, (await pendingFor(request.resourceId)).decisionId, people.ann);
    }
    const { client, signal } = abortedAt(path, botKey);
    const run = jest.fn();
    await expect(client.guard(request, run, { signal })).rejects.toThrow('Enough.');
    expect(run).not.toHaveBeenCalled();
    const { body } = await send(app, 'GET', `${EXECUTIONS}?resourceId=${request.resourceId}`);
    const failureReason = 'It was given up before it began: Enough.';
    expect(body.data).toEqual([expect.objectContaining({ outcome: 'failed', failureReason })]);
  });

  it('returns what a handler of the service did while the signal was aborted', async () => {
    await operator.post('/api/v1/agents', { body: { name: 'aborted', capabilities: ['succeed'] } });
    const { client, signal } = abortedAt('execute', API_KEY);
    const request = { ...SEND, agent: 'aborted', action: 'succeed' };
    expect(await client.guard(request, () => null, { signal })).toEqual({ moved: 3, note: 'done' });
  });

  it('carries an authorised execution out once, and again only if it paused', async () => {
    const pause = new Error('Later.');
    const run = jest
      .fn<string, []>(() => 'sent')
      .mockImplementationOnce(() => {
        throw pause;
      });
    const execution = await bot.authorize({ ...SEND, resourceId: 'mails/twice' });
    const carryOut = (): Promise<string> => bot.carryOut(execution, run, { isPause: (thrown) => thrown === pause });
    await expect(carryOut()).rejects.toBe(pause);
    expect(await carryOut()).toBe('sent');
    await expect(carryOut()).rejects.toThrow(`The execution ${execution.id} was carried out before`);
    expect(run).toHaveBeenCalledTimes(2);
  });

  it('returns the result of a handler in the service, throws its failure, and never runs the function', async () => {
    const run = jest.fn();
    const agent = 'handled';
    await operator.post('/api/v1/agents', { body: { name: agent, capabilities: ['succeed', 'fail'] } });
    expect(await operator.guard({ ...SEND, agent, action: 'succeed' }, run)).toEqual({ moved: 3, note: 'done' });
    const failed = await errorOf(operator.guard({ ...SEND, agent, action: 'fail' }, run));
    expect(failed).toMatchObject({ code: 'EXECUTION_FAILED', reason: 'failed' });
    expect(failed.message).toContain('The mailbox is full.');
    expect(run).not.toHaveBeenCalled();
  });

  it('requires the agent if the key is bound to none', async () => {
    await expect(operator.guard(SEND, () => 1)).rejects.toThrow('The key is bound to no agent');
  });

  it.each(['refund', 'succeed'])(
    'returns what came of a %s that an equal call resumed, and does not run',
    async (action) => {
      await requireApproval(app, {}, { actions: [action], resources: ['orders/*'], priority: 1 });
      const agent = `shared-${action}`;
      await operator.post('/api/v1/agents', { body: { name: agent, capabilities: [action] } });
      const request = { ...order(), agent, action };
      const { hostname, port } = new URL(app.url);
      const gate = await openTcpGate(hostname, Number(port));
      const client = new module.GovernanceClient({ url: `http://127.0.0.1:${gate.port}`, key: API_KEY });
      const runs: string[] = [];
      const looking = gate.holdAt('?wait=');
      const waiting = client.guard<unknown>(request, () => runs.push('waited'), { wait: 60 });
      await looking;
      await approve(app, (await pendingFor(request.resourceId)).decisionId, people.ann);
      const first = await operator.guard<unknown>(request, () => runs.push('first'));
      gate.cut();
      gate.open();
      expect(await waiting).toEqual(first);
      expect(runs).toEqual(action === 'refund' ? ['first'] : []);
      await gate.close();
    },
  );

  it('records, and hands to the function, what was asked for, whatever becomes of the request meanwhile', async () => {
    const request = { ...order(), parameters: { amount: 10, lines: [{ price: 10 }] } };
    const originalParameters = structuredClone(request.parameters);
    const guarded = bot.guard(request, ({ parameters }) => parameters, { wait: 60 });
    request.parameters.amount = 9_999;
    const { id, decisionId } = await pendingFor(request.resourceId);
    request.parameters.lines[0] = { price: 9_999 };
    await approve(app, decisionId, people.ann);
    expect(await guarded).toEqual(originalParameters);
    const { result, parameters } = await operator.get('/api/v1/executions/{id}', { path: { id } });
    expect([result, parameters]).toEqual([originalParameters, originalParameters]);
  });

  it('uses an approval once, however many race for it', async () => {
    const request = order();
    const run = jest.fn(() => 'refunded');
    await errorOf(bot.guard(request, run));
    await approve(app, (await pendingFor(request.resourceId)).decisionId, people.ann);
    const racing = await Promise.allSettled(Array.from({ length: 10 }, () => bot.guard(request, run)));
    const results = racing.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(new Set(results)).toEqual(new Set(['refunded']));
    // Where the approval was used before they asked, they ask anew.
    const refusals = racing.flatMap((one) => (one.status === 'rejected' ? [(one.reason as GovernanceError).code] : []));
    expect(refusals).toEqual(refusals.map(() => 'APPROVAL_PENDING'));
    expect(run).toHaveBeenCalledTimes(1);
  });
});
