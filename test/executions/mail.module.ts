import { Injectable, Module } from '@nestjs/common';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionResponse } from '../../src/governance/executions/dto/execution.dto';
import {
  ActionFailure,
  type ActionContext,
  ActionHandler,
} from '../../src/governance/executions/handlers/action-handlers';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { createAgent, createPolicy } from '../support/application/factories';
import { type Answer, send } from '../support/application/send';

/** The calls of the handler of `echo`, and how many handlers of `never` were signalled to stop. */
export const calls = { echoed: [] as ActionContext[], aborted: 0 };
let endWait: (() => void) | null = null;

@Injectable()
class Mailer {
  private readonly sender = 'noreply@example.com';

  @ActionHandler('echo')
  @ActionHandler('echo-too')
  echo(context: ActionContext): unknown {
    calls.echoed.push(context);
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
    calls.aborted += 1;
    await new Promise(() => undefined);
  }

  @ActionHandler('wait')
  async wait(): Promise<string> {
    await new Promise<void>((resolve) => {
      endWait = resolve;
    });
    endWait = null;
    return 'released';
  }
}

const cycle: unknown[] = [];
cycle.push(cycle);
export const NOT_JSON: Readonly<Record<string, unknown>> = {
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

export async function createMailApp(environment: Record<string, string> = {}): Promise<TestApp> {
  return createTestApp({ environment, modules: [MailModule] });
}

export async function createBot(app: TestApp): Promise<void> {
  await createAgent(app, { name: 'bot', capabilities: ACTIONS });
  await createPolicy(app, { actions: ACTIONS.slice(0, -1) });
}

export function execute(app: TestApp, action: string, parameters = {}): Promise<Answer> {
  const body = { action, resourceType: 'mail', resourceId: 'inbox', parameters };
  return send(app, 'POST', '/api/v1/agents/bot/execute', { body });
}

/** The record: what a reviewer said is no part of it. */
export async function read(app: TestApp, id: string): Promise<ExecutionResponse> {
  const { rejection, ...record } = (await send(app, 'GET', `/api/v1/executions/${id}`)).body;
  expect(rejection).toBeNull();
  return record;
}

export async function listed(app: TestApp, outcome: string): Promise<ExecutionResponse[]> {
  return (await send(app, 'GET', `/api/v1/executions?outcome=${outcome}`)).body.data;
}

export async function oneRunning(app: TestApp): Promise<ExecutionResponse> {
  for (;;) {
    const [running] = await listed(app, 'running');
    if (running !== undefined) return running;
    await sleep(5);
  }
}

/** Ends the running handler of `wait`. */
export function release(): void {
  endWait?.();
}

/** Requests `wait`; resolves once its handler runs, which is later than when the execution can be read. */
export async function oneWaiting(app: TestApp): Promise<{ answer: Promise<Answer>; running: ExecutionResponse }> {
  const answer = execute(app, 'wait');
  while (endWait === null) await sleep(5);
  return { answer, running: await oneRunning(app) };
}
