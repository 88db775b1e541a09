import { Inject, Injectable, Module, Scope, type Type } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../../src/errors/domain-error';
import type { ExecutionResponse } from '../../src/executions/dto/execution.response';
import { ActionFailure } from '../../src/executions/handlers/action-failure';
import { type ActionContext, ActionHandler } from '../../src/executions/handlers/action-handler.decorator';
import { shutDown } from '../../src/http/shutdown/shut-down';
import { LedgerService } from '../../src/ledger/ledger.service';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { auditOf, chainIsValid, createAgent, createPolicy } from '../support/application/factories';
import { foreignConnection } from '../support/database/foreign-connection';
import { type Answer, send } from '../support/application/send';
import { temporaryDatabase, type TemporaryDatabase } from '../support/database/temporary-database';

const seen: ActionContext[] = [];
/** Ends the handler of `wait` that runs; null while none does. */
let release: (() => void) | null = null;

@Injectable()
class Mailer {
  private readonly sender = 'noreply@example.com';

  @ActionHandler('echo')
  @ActionHandler('echo-too')
  echo(context: ActionContext): unknown {
    seen.push(context);
    return { from: this.sender, parameters: context.parameters, nothing: undefined, at: new Date(0) };
  }

  @ActionHandler('nothing')
  doNothing(): void {
    // An action need not return anything.
  }

  @ActionHandler('change-parameters')
  async change({ parameters }: ActionContext): Promise<void> {
    Object.assign(parameters, { changed: true });
  }

  @ActionHandler('throw')
  fail(): never {
    throw new Error('cannot open /etc/secret.key: SELECT * FROM keys');
  }

  @ActionHandler('reject')
  async reject(): Promise<never> {
    await Promise.reject(new ActionFailure('The mailbox is full.'));
    throw new Error('not reached');
  }

  @ActionHandler('return')
  return({ parameters }: ActionContext): unknown {
    return NOT_JSON[parameters['what'] as string];
  }

  @ActionHandler('never')
  async never({ signal }: ActionContext): Promise<void> {
    await once(signal, 'abort');
    aborted += 1;
    await new Promise(() => undefined);
  }

  @ActionHandler('wait')
  async wait(): Promise<string> {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    release = null;
    return 'released';
  }
}

let aborted = 0;
const cycle: unknown[] = [];
cycle.push(cycle);
const NOT_JSON: Readonly<Record<string, unknown>> = {
  'a function': { a: [() => undefined] },
  NaN: { a: { b: NaN } },
  infinity: [Infinity],
  'a bigint': 1n,
  'a symbol': Symbol('x'),
  'a cycle': cycle,
  NUL: 'a\u0000',
  'a lone surrogate': { a: '\ud800' },
  'a lone surrogate as key': { '\ud800': 1 },
  __proto__key: JSON.parse('{"__proto__": 1}'),
  'a map': new Map(),
  'too much': 'x'.repeat(1_100_000),
  'a throwing getter': {
    get a(): never {
      throw new Error('x');
    },
  },
};

@Module({ providers: [Mailer, { provide: 'SAME_MAILER', useExisting: Mailer }] })
class MailModule {}

const ACTIONS = [
  'echo',
  'echo-too',
  'nothing',
  'change-parameters',
  'throw',
  'reject',
  'return',
  'never',
  'wait',
  'other',
];

async function createMailApp(environment: Record<string, string> = {}): Promise<TestApp> {
  return createTestApp({ environment, modules: [MailModule] });
}

async function createBot(app: TestApp): Promise<void> {
  await createAgent(app, { name: 'bot', capabilities: ACTIONS });
  await createPolicy(app, { actions: ACTIONS.slice(0, -1) });
}

function execute(app: TestApp, action: string, parameters = {}): Promise<Answer> {
  const body = { action, resourceType: 'mail', resourceId: 'inbox', parameters };
  return send(app, 'POST', '/api/v1/agents/bot/execute', { body });
}

async function read(app: TestApp, id: string): Promise<ExecutionResponse> {
  return (await send(app, 'GET', `/api/v1/executions/${id}`)).body;
}

async function listed(app: TestApp, outcome: string): Promise<ExecutionResponse[]> {
  return (await send(app, 'GET', `/api/v1/executions?outcome=${outcome}`)).body.data;
}

async function oneRunning(app: TestApp): Promise<ExecutionResponse> {
  for (;;) {
    const [running] = await listed(app, 'running');
    if (running !== undefined) return running;
    await sleep(5);
  }
}

/** Asks for `wait`; answers once its handler runs, as that begins after its execution can be seen. */
async function oneWaiting(app: TestApp): Promise<{ answer: Promise<Answer>; running: ExecutionResponse }> {
  const answer = execute(app, 'wait');
  while (release === null) await sleep(5);
  return { answer, running: await oneRunning(app) };
}

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

  it('run for what is allowed, and their result is kept', async () => {
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
    expect(seen.at(-1)).toMatchObject({
      executionId: answer.body.id,
      agentId: answer.body.agentId,
      agentName: 'bot',
      action: 'echo',
      resourceType: 'mail',
      resourceId: 'inbox',
      parameters: { to: ['x'] },
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
    const authorised = { ...details, policySet: expect.stringMatching(/^[0-9a-f]{64}$/) };
    expect(await auditOf(app, id)).toEqual([
      expect.objectContaining({ ...common, action: 'execution.authorized', details: authorised }),
      expect.objectContaining({ ...common, action: 'execution.completed', details }),
    ]);
    const entries = (await send(app, 'GET', `/api/v1/provenance?subjectId=${id}`)).body.data;
    const states = [];
    for (const { sequence } of entries) {
      states.push((await send(app, 'GET', `/api/v1/provenance/${sequence}`)).body.state);
    }
    // What is null is left out of the sealed state, where it came later.
    const unset = ['reason', 'approvedUntil'];
    const sealed = Object.fromEntries(Object.entries(await read(app, id)).filter(([name]) => !unset.includes(name)));
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
    const before = seen.length;
    const denied = await createPolicy(app, { effect: 'deny', actions: ['echo'] });
    expect((await execute(app, 'echo')).status).toBe(403);
    await send(app, 'POST', `/api/v1/policies/${denied.id}/deactivate`);
    expect((await execute(app, 'other')).status).toBe(403);
    expect(seen).toHaveLength(before);
  });

  it('that throw make a failed execution, without telling more than a sentence', async () => {
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

  it('can say why they failed', async () => {
    const { body } = await execute(app, 'reject');
    expect(body).toMatchObject({ outcome: 'failed', failureReason: 'The mailbox is full.' });
  });

  it.each(Object.keys(NOT_JSON))('that return %s make a failed execution', async (what) => {
    const { status, body } = await execute(app, 'return', { what });
    expect({ status, ...body }).toMatchObject({ status: 200, outcome: 'failed', result: null });
    expect(body.failureReason).toMatch(/^The handler of "return" .*\.$/);
  });

  it('that take too long make a failed execution, and are told to end', async () => {
    const impatient = await createMailApp({ ACTION_TIMEOUT: '300' });
    await createBot(impatient);
    const before = aborted;
    const { status, body } = await execute(impatient, 'never');
    expect({ status, ...body }).toMatchObject({ status: 200, outcome: 'failed', result: null });
    expect(body.failureReason).toContain('300 ms');
    while (aborted === before) await sleep(5);
    expect(aborted).toBe(before + 1);
    await impatient.close();
  });

  it('run after their execution is on disk', async () => {
    const { answer, running } = await oneWaiting(app);
    expect(running).toMatchObject({ outcome: 'running', completedAt: null, result: null });
    release?.();
    expect((await answer).body).toEqual({
      ...running,
      outcome: 'executed',
      result: 'released',
      completedAt: (await answer).body.completedAt,
    });
  });

  it('answer with the execution as it stands when its end cannot be written, which is tried again', async () => {
    const ledger = app.application.get(LedgerService);
    const { answer, running } = await oneWaiting(app);
    const write = jest.spyOn(ledger, 'write').mockRejectedValueOnce(unavailable('The disk is full.'));
    release?.();
    expect(await answer).toMatchObject({ status: 200, body: running });
    write.mockRestore();
    while ((await read(app, running.id)).outcome === 'running') await sleep(50);
    expect(await read(app, running.id)).toMatchObject({ outcome: 'executed', result: 'released' });
    expect((await auditOf(app, running.id)).map(({ action }) => action)).toEqual([
      'execution.authorized',
      'execution.completed',
    ]);
  });

  it('whose execution somebody removed from the database are given up, not tried for ever', async () => {
    const { answer, running } = await oneWaiting(app);
    const foreign = await foreignConnection(app);
    await foreign.run('CREATE TEMP TABLE kept AS SELECT * FROM "executions" WHERE "id" = $1', [running.id]);
    await foreign.run('DELETE FROM "executions" WHERE "id" = $1', [running.id]);
    const write = jest.spyOn(app.application.get(LedgerService), 'write');
    release?.();
    expect(await answer).toMatchObject({ status: 200, body: running });
    const attempts = write.mock.calls.length;
    await sleep(2_500);
    expect(write).toHaveBeenCalledTimes(attempts);
    write.mockRestore();
    await foreign.run('INSERT INTO "executions" SELECT * FROM kept');
    await foreign.close();
  });
});

/** More than are read at once. */
const CROWD = 120;

describe('executions whose service stops', () => {
  let database: TemporaryDatabase;
  let environment: TemporaryDatabase['environment'];

  beforeEach(async () => {
    database = await temporaryDatabase();
    ({ environment } = database);
  });
  afterEach(() => database.remove());

  it.each<[string, (app: TestApp) => Promise<void>]>([
    ['is closed', (app) => app.close()],
    ['shuts down', (app) => shutDown(app.application)],
  ])('are answered as running when it %s, and marked at the next start', async (_how, stop) => {
    const first = await createMailApp(environment);
    await createBot(first);
    const answer = execute(first, 'never');
    const running = await oneRunning(first);
    await stop(first);
    expect(await answer).toMatchObject({ status: 200, body: running });
    const next = await createMailApp(environment);
    try {
      const marked = await read(next, running.id);
      expect(marked).toEqual({
        ...running,
        outcome: 'interrupted',
        failureReason: expect.stringMatching(/\.$/),
        completedAt: expect.stringMatching(/Z$/),
      });
      const entries = await auditOf(next, running.id);
      expect(entries.map(({ action }) => action)).toEqual(['execution.authorized', 'execution.interrupted']);
      const details = { ...entries[0]?.details };
      delete details['policySet'];
      expect(entries[1]).toMatchObject({
        actor: { type: 'system' },
        agentId: running.agentId,
        outcome: 'failed',
        requestId: null,
        ip: null,
        details,
      });
      await chainIsValid(next);
    } finally {
      await next.close();
    }
    const last = await createMailApp(environment);
    expect(await auditOf(last, running.id)).toHaveLength(2);
    await last.close();
  });

  it('are marked one by one, a crowd of them too', async () => {
    const first = await createMailApp(environment);
    await createBot(first);
    const answers = Array.from({ length: CROWD }, () => execute(first, 'never'));
    const total = async (app: TestApp, outcome: string): Promise<number> =>
      (await send(app, 'GET', `/api/v1/executions?outcome=${outcome}&limit=1`)).body.total;
    while ((await total(first, 'running')) < CROWD) await sleep(20);
    await first.close();
    await Promise.all(answers);
    const write = jest.spyOn(LedgerService.prototype, 'write');
    const next = await createMailApp(environment);
    const commands = write.mock.calls.length;
    write.mockRestore();
    expect(await total(next, 'interrupted')).toBe(CROWD);
    expect(commands).toBeGreaterThanOrEqual(CROWD);
    const entries = await send(next, 'GET', '/api/v1/audit?action=execution.interrupted&limit=1');
    expect(entries.body.total).toBe(CROWD);
    await chainIsValid(next);
    await next.close();
  });

  it('are completed when their handler ends in time', async () => {
    const first = await createMailApp(environment);
    await createBot(first);
    const { answer } = await oneWaiting(first);
    const stopped = shutDown(first.application);
    await sleep(100);
    release?.();
    expect((await answer).body).toMatchObject({ outcome: 'executed', result: 'released' });
    await stopped;
  });

  it('are decided by the same policies after the next start', async () => {
    const first = await createMailApp(environment);
    await createBot(first);
    const { id } = await createPolicy(first, { name: 'x', version: '1', effect: 'deny', actions: ['nothing'] });
    await createPolicy(first, { name: 'x', version: '2', effect: 'deny', actions: ['echo'] });
    const off = await createPolicy(first, { effect: 'deny', actions: ['echo-too'] });
    await send(first, 'POST', `/api/v1/policies/${off.id}/deactivate`);
    await first.close();
    const next = await createMailApp(environment);
    try {
      expect((await execute(next, 'nothing')).status).toBe(200);
      expect((await execute(next, 'echo-too')).status).toBe(200);
      expect((await execute(next, 'echo')).status).toBe(403);
      await send(next, 'POST', `/api/v1/policies/${id}/activate`);
      expect((await execute(next, 'nothing')).status).toBe(403);
      expect((await execute(next, 'echo')).status).toBe(200);
    } finally {
      await next.close();
    }
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

  it('is stopped by two handlers of one action', async () => {
    expect(await failure(First, Second)).toBe(
      'The action "contested" has two handlers: First.run and Second.handle. Each action has at most one.',
    );
    expect(await failure(Twice)).toContain('Twice.one and Twice.other');
  });

  it('is stopped by a handler that exists only per request', async () => {
    expect(await failure(PerRequest)).toContain('PerRequest.run');
  });
});
