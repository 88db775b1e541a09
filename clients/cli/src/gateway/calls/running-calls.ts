import type { Schemas } from '../../../../typescript/src/index.js';
import { StoppedError } from '../../mcp/stop-watch.js';
import type { Caller } from './known-callers.js';
import { Refusal } from './refusal.js';
import type { CallerService } from './service-calls.js';

/** A call that was sent to its upstream, or is about to be. */
export interface RunningCall {
  readonly caller: Caller;
  readonly service: CallerService;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
}

/** Questions that the service takes at once. */
const MAX_QUESTIONS = 100;

/** The calls of the gateway that can be stopped. */
export class RunningCalls {
  private readonly calls = new Map<AbortController, RunningCall>();

  /** Runs a call with a signal that fires when it is stopped. */
  async during<Result>(call: RunningCall, run: (stopped: AbortSignal) => Promise<Result>): Promise<Result> {
    const controller = new AbortController();
    this.calls.set(controller, call);
    try {
      return await run(controller.signal);
    } finally {
      this.calls.delete(controller);
    }
  }

  stopAgent(agentId: string): void {
    this.stopWhere(({ caller }) => caller.agentId === agentId);
  }

  stopKey(keyId: string): void {
    this.stopWhere(({ caller }) => caller.actorId === keyId);
  }

  /** Stops the calls of which the service says that they are stopped now. @throws Refusal if the service does not answer */
  async checkAll(): Promise<void> {
    const byCaller = new Map<string, [AbortController, RunningCall][]>();
    for (const [controller, call] of this.calls) {
      const calls = byCaller.get(call.caller.id) ?? [];
      calls.push([controller, call]);
      byCaller.set(call.caller.id, calls);
    }
    await Promise.all([...byCaller.values()].map((calls) => checkCalls(calls)));
  }

  private stopWhere(isMeant: (call: RunningCall) => boolean): void {
    for (const [controller, call] of this.calls) if (isMeant(call)) controller.abort(new StoppedError());
  }
}

/** @param calls of one caller */
async function checkCalls(calls: readonly (readonly [AbortController, RunningCall])[]): Promise<void> {
  for (let start = 0; start < calls.length; start += MAX_QUESTIONS) {
    const batch = calls.slice(start, start + MAX_QUESTIONS);
    const results = await reasonsFor(batch.map(([, call]) => call));
    batch.forEach(([controller], index) => {
      const reason = results[index];
      if (reason === 'stopped' || reason === 'agent_suspended') controller.abort(new StoppedError());
    });
  }
}

/** Why each call would be refused now. */
async function reasonsFor(calls: readonly RunningCall[]): Promise<(string | null)[]> {
  const [first] = calls;
  if (first === undefined) return [];
  const requests = calls.map(({ action, resourceType, resourceId }) => ({ action, resourceType, resourceId }));
  try {
    const body = { agent: first.caller.agentId, open: true, requests };
    const { results } = (await first.service.evaluate(body)) as unknown as Schemas['EvaluationsResponse'];
    return results.map(({ reason }) => reason);
  } catch (error) {
    // The service tells a key that has ended, or whose agent is suspended, of no stop.
    const isEnded = error instanceof Refusal && (error.status === 401 || error.reason === 'agent_suspended');
    if (isEnded) return calls.map(() => 'stopped');
    throw error;
  }
}
