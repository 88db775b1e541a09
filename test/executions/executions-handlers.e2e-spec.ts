import { Inject, Injectable, Module, Scope, type Type } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../../src/core/errors/domain-error';
import type { ExecutionResponse } from '../../src/governance/executions/dto/execution.dto';
import { ActionHandler } from '../../src/governance/executions/handlers/action-handlers';
import { LedgerService } from '../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createPolicy } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { withoutUnset } from '../support/requests/sealed-form';
import { send } from '../support/application/send';
import { calls, createBot, createMailApp, execute, NOT_JSON, oneWaiting, read, release } from './mail.module';

describe('action handlers', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await createMailApp();
    await createBot(app);
  });
  afterAll(async () => {
    await chainIsValid(app);
    await app.close();
  });

  it('run for allowed actions, and their result is stored', async () => {
    const answer = await execute(app, 'echo', { to: ['x'] });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        outcome: 'executed',
        result: { from: 'noreply@example.com', parameters: { to: ['x'] }, at: '1970-01-01T00:00:00.000Z' },
        failureReason: null,
        completedAt: expect.stringMatching(/Z$/),
      },
    });
    expect(answer.body.result).not.toHaveProperty('nothing');
    expect(await read(app, answer.body.id)).toEqual(answer.body);
    expect(answer.body.completedAt >= answer.body.createdAt).toBe(true);
    expect(calls.echoed.at(-1)).toMatchObject({
      executionId: answer.body.id,
      agentId: answer.body.agentId,
      agentName: 'bot',
      action: 'echo',
      resourceType: 'mail',
      resourceId: 'inbox',
      parameters: { to: ['x'] },
      ...{ onBehalfOf: null, run: null },
      signal: expect.any(AbortSignal),
    });
  });

  it('leave an entry for the authorisation and one for the completion', async () => {
    const { id, agentId, policies } = (await execute(app, 'echo')).body as ExecutionResponse;
    const details = {
      action: 'echo',
      resourceType: 'mail',
      resourceId: 'inbox',
      policies: policies.map((policy) => ({ id: policy.id, name: policy.name, version: policy.version })),
    };
    const common = { actor: { type: 'api_key', id: 'env' }, agentId, subjectId: id, outcome: 'success' };
    const aHash = expect.stringMatching(/^[0-9a-f]{64}$/);
    const authorised = { ...details, policySet: aHash, rules: aHash, agentRevision: 1 };
    expect(await auditOf(app, id)).toEqual([
      expect.objectContaining({ ...common, action: 'execution.authorized', details: authorised }),
      expect.objectContaining({ ...common, action: 'execution.completed', details }),
    ]);
    const entries = (await send(app, 'GET', `/api/v1/provenance?subjectId=${id}`)).body.data;
    const states = [];
    for (const { sequence } of entries) {
      states.push((await send(app, 'GET', `/api/v1/provenance/${sequence}`)).body.state);
    }
    const sealed = withoutUnset(await read(app, id));
    expect(states).toEqual([expect.objectContaining({ outcome: 'running', completedAt: null }), sealed]);
  });

  it('may handle several actions', async () => {
    expect((await execute(app, 'echo-too')).body.outcome).toBe('executed');
  });

  it('may return nothing', async () => {
    expect((await execute(app, 'nothing')).body).toMatchObject({ outcome: 'executed', result: null });
  });

  it('cannot change what was recorded', async () => {
    const { body } = await execute(app, 'change-parameters', { a: 1 });
    expect(body).toMatchObject({ outcome: 'executed', parameters: { a: 1 } });
    expect((await read(app, body.id)).parameters).toEqual({ a: 1 });
  });

  it('do not run for what is refused', async () => {
    const before = calls.echoed.length;
    const denied = await createPolicy(app, { effect: 'deny', actions: ['echo'] });
    expect((await execute(app, 'echo')).status).toBe(403);
    await send(app, 'POST', `/api/v1/policies/${denied.id}/deactivate`);
    expect((await execute(app, 'other')).status).toBe(403);
    expect(calls.echoed).toHaveLength(before);
  });

  it('that throw make the execution failed, with a neutral sentence only', async () => {
    const answer = await execute(app, 'throw');
    expect(answer).toMatchObject({ status: 200, body: { outcome: 'failed', result: null } });
    expect(answer.body.failureReason).toMatch(/^The handler of "throw" failed.*\.$/);
    expect(answer.text).not.toMatch(/secret|SELECT|\.ts/);
    expect(answer.body.completedAt).not.toBeNull();
    expect(await read(app, answer.body.id)).toEqual(answer.body);
    expect((await auditOf(app, answer.body.id)).map(({ action, outcome }) => [action, outcome])).toEqual([
      ['execution.authorized', 'success'],
      ['execution.completed', 'failed'],
    ]);
  });

  it('can give the reason for a failure', async () => {
    const { body } = await execute(app, 'reject');
    expect(body).toMatchObject({ outcome: 'failed', failureReason: 'The mailbox is full.' });
  });

  it.each(Object.keys(NOT_JSON))('that return %s make a failed execution', async (what) => {
    const { status, body } = await execute(app, 'return', { what });
    expect({ status, ...body }).toMatchObject({ status: 200, outcome: 'failed', result: null });
    expect(body.failureReason).toMatch(/^The handler of "return" .*\.$/);
  });

  it('that take too long make the execution failed, and are signalled to stop', async () => {
    const impatient = await createMailApp({ ACTION_TIMEOUT: '300' });
    await createBot(impatient);
    const before = calls.aborted;
    const { status, body } = await execute(impatient, 'never');
    expect({ status, ...body }).toMatchObject({ status: 200, outcome: 'failed', result: null });
    expect(body.failureReason).toContain('300 ms');
    while (calls.aborted === before) await sleep(5);
    expect(calls.aborted).toBe(before + 1);
    await impatient.close();
  });

  it('run after their execution is on disk', async () => {
    const { answer, running } = await oneWaiting(app);
    expect(running).toMatchObject({ outcome: 'running', completedAt: null, result: null });
    release();
    expect((await answer).body).toEqual({
      ...running,
      outcome: 'executed',
      result: 'released',
      completedAt: (await answer).body.completedAt,
    });
  });

  it('are waited for: a request that waits is answered when they have ended', async () => {
    const { answer, running } = await oneWaiting(app);
    const waiting = send(app, 'GET', `/api/v1/executions/${running.id}?wait=60`);
    // The request was sent before and still waits.
    expect((await read(app, running.id)).outcome).toBe('running');
    release();
    expect((await waiting).body).toMatchObject({ outcome: 'executed', result: 'released' });
    expect((await answer).status).toBe(200);
  });

  it('whose end cannot be written are answered with the current state, and the end is written later', async () => {
    const ledger = app.application.get(LedgerService);
    const { answer, running } = await oneWaiting(app);
    const write = jest.spyOn(ledger, 'write').mockRejectedValueOnce(unavailable('The disk is full.'));
    release();
    expect(await answer).toMatchObject({ status: 200, body: running });
    write.mockRestore();
    while ((await read(app, running.id)).outcome === 'running') await sleep(50);
    expect(await read(app, running.id)).toMatchObject({ outcome: 'executed', result: 'released' });
    expect((await auditOf(app, running.id)).map(({ action }) => action)).toEqual([
      'execution.authorized',
      'execution.completed',
    ]);
  });

  it('whose execution somebody removed from the database are abandoned, not retried for ever', async () => {
    const { answer, running } = await oneWaiting(app);
    const foreign = await foreignConnection(app);
    await foreign.run('CREATE TEMP TABLE kept AS SELECT * FROM "executions" WHERE "id" = $1', [running.id]);
    await foreign.run('DELETE FROM "executions" WHERE "id" = $1', [running.id]);
    const write = jest.spyOn(app.application.get(LedgerService), 'write');
    release();
    expect(await answer).toMatchObject({ status: 200, body: running });
    const attempts = write.mock.calls.length;
    await sleep(2_500);
    expect(write).toHaveBeenCalledTimes(attempts);
    write.mockRestore();
    await foreign.run('INSERT INTO "executions" SELECT * FROM kept');
    await foreign.close();
  });
});

describe('the start', () => {
  async function failure(...providers: Type[]): Promise<string> {
    @Module({ providers })
    class HandlersModule {}
    const starting = createTestApp({ modules: [HandlersModule] });
    return starting.then(
      () => 'started',
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
  }

  @Injectable()
  class First {
    @ActionHandler('contested')
    run(): void {
      // Never run.
    }
  }

  @Injectable()
  class Second {
    @ActionHandler('contested')
    handle(): void {
      // Never run.
    }
  }

  @Injectable()
  class Twice {
    @ActionHandler('contested')
    one(): void {
      // Never run.
    }

    @ActionHandler('contested')
    other(): void {
      // Never run.
    }
  }

  @Injectable({ scope: Scope.REQUEST })
  class PerRequest {
    constructor(@Inject(REQUEST) readonly request: unknown) {}

    @ActionHandler('scoped')
    run(): void {
      // Never run.
    }
  }

  it('fails if two handlers name the same action', async () => {
    expect(await failure(First, Second)).toBe(
      'The action "contested" has two handlers: First.run and Second.handle. Each action has at most one.',
    );
    expect(await failure(Twice)).toContain('Twice.one and Twice.other');
  });

  it('fails if a handler is scoped to the request', async () => {
    expect(await failure(PerRequest)).toContain('PerRequest.run');
  });
});
