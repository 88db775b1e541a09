import { setTimeout as sleep } from 'node:timers/promises';
import { matchesAction } from '../service-rules/action-pattern.js';

/** A call that was sent to its upstream, or is about to be. */
export interface RunningCall {
  readonly caller: CallerIdentity;
  readonly service: StopSource;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
}

interface CallerIdentity {
  /** Equal for the calls that the service is asked about together. */
  readonly id: string;
  readonly agentId: string;
  /** Id of the key, or name of the token's subject. */
  readonly actorId: string;
}

/** Asks the service about a caller's calls, with the caller's own key. */
interface StopSource {
  /** `POST /policies/evaluate`. */
  evaluate(body: object): Promise<unknown>;
  /** `GET /stops`: the active ones that the caller sees. These requests have a rate limit of their own. */
  activeStops(): Promise<readonly ListedStop[]>;
}

/** A stop as the service lists it. */
export interface ListedStop {
  /** Null: every agent. */
  readonly agentId: string | null;
  /** Patterns; empty: every action. */
  readonly actions: readonly string[];
}

export interface CheckOptions {
  /** Fires when nobody needs the check any longer. */
  readonly signal: AbortSignal;
  /** Called for each time that the service did not answer. */
  readonly onFault?: (error: unknown) => void;
}

/** Times in milliseconds of checks that the service does not answer. */
interface CheckTimes {
  /** Pause before it is asked again. */
  readonly pause: number;
  /** After this time calls end as if they were stopped. */
  readonly max: number;
}

/** Somebody stopped the agent of a call while it ran. */
export class StoppedError extends Error {}

/** Maximum number of questions in one request to the service. */
const MAX_QUESTIONS = 100;
/** Milliseconds after which an evaluate counts as not answered: the list of stops is read in its place. */
const MAX_EVALUATE_MS = 3_000;

/** The calls of this process that can be stopped. */
export class RunningCalls {
  private readonly calls = new Map<AbortController, RunningCall>();

  constructor(private readonly times: CheckTimes = { pause: 500, max: 10_000 }) {}

  /**
   * Runs a call with a signal that fires when it is stopped. A call begins before it is authorised, so that no stop is
   * missed in between.
   */
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

  /**
   * Stops the calls of which the service says that they are stopped now. Where it does not answer, it is asked again;
   * calls of which it has said nothing for ten seconds end as if they were stopped.
   */
  async checkAll(options: CheckOptions): Promise<void> {
    await Promise.all(this.callerIds().map((id) => this.checkUntilKnown(id, options)));
  }

  /** Checks all calls once. Those of which the service says nothing go on. */
  async checkOnce(): Promise<void> {
    await Promise.allSettled(this.callerIds().map((id) => check(this.callsOf(id))));
  }

  /**
   * Checks one call once: others of its caller go on, also where the service refuses its key.
   * @throws errors of the service
   */
  async checkCall(call: RunningCall): Promise<void> {
    await check(new Map([...this.calls].filter(([, other]) => other === call)));
  }

  private callerIds(): string[] {
    return [...new Set([...this.calls.values()].map(({ caller }) => caller.id))];
  }

  private async checkUntilKnown(id: string, { signal, onFault }: CheckOptions): Promise<void> {
    const unknown = this.callsOf(id);
    const end = (): void => {
      for (const controller of unknown.keys()) controller.abort(new StoppedError());
      unknown.clear();
    };
    const timer = setTimeout(end, this.times.max).unref();
    try {
      while (unknown.size > 0 && !signal.aborted) {
        try {
          await check(unknown);
        } catch (error) {
          onFault?.(error);
          await sleep(this.times.pause, undefined, { signal, ref: false }).catch(() => undefined);
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  private callsOf(id: string): Map<AbortController, RunningCall> {
    return new Map([...this.calls].filter(([, { caller }]) => caller.id === id));
  }

  private stopWhere(isMeant: (call: RunningCall) => boolean): void {
    for (const [controller, call] of this.calls) if (isMeant(call)) controller.abort(new StoppedError());
  }
}

/**
 * Checks calls of one caller: stops those that a stop covers, and removes from the map all of which the service has
 * said something. @throws errors of the service
 */
async function check(calls: Map<AbortController, RunningCall>): Promise<void> {
  const all = [...calls];
  for (let start = 0; start < all.length; start += MAX_QUESTIONS) {
    const batch = all.slice(start, start + MAX_QUESTIONS);
    const stopped = await stoppedOrListed(batch.map(([, call]) => call));
    batch.forEach(([controller], index) => {
      if (stopped[index] === true) controller.abort(new StoppedError());
      calls.delete(controller);
    });
  }
}

/**
 * Finds the calls that are stopped: by the list of stops if the evaluation fails, because an agent still gets it after
 * its rate limit is used up.
 */
async function stoppedOrListed(calls: readonly RunningCall[]): Promise<boolean[]> {
  try {
    return await stoppedAmong(calls);
  } catch (error) {
    const [first] = calls;
    const stops = await first?.service.activeStops().catch((listError: unknown) => {
      if (isOfEndedKey(listError)) return null;
      throw error;
    });
    return calls.map((call) => stops === null || (stops ?? []).some((stop) => mayCover(stop, call)));
  }
}

/** True if a stop covers a call of an agent that has its role. A caller that is bound to an agent sees no others. */
function mayCover({ agentId, actions }: ListedStop, { caller, action }: RunningCall): boolean {
  const isOfAgent = agentId === null || agentId === caller.agentId;
  return isOfAgent && (actions.length === 0 || actions.some((pattern) => matchesAction(pattern, action)));
}

/** @throws Error after three seconds */
async function withinTime(answer: Promise<unknown>): Promise<unknown> {
  const ending = new AbortController();
  const late = sleep(MAX_EVALUATE_MS, undefined, { signal: ending.signal, ref: false }).then(() => {
    throw new Error('The service does not answer.');
  });
  // The loser of the race may still be rejected.
  for (const promise of [answer, late]) promise.catch(() => undefined);
  return Promise.race([answer, late]).finally(() => ending.abort());
}

/** True for each call that a stop covers, or whose agent is suspended. @param calls of one caller */
async function stoppedAmong(calls: readonly RunningCall[]): Promise<boolean[]> {
  const [first] = calls;
  if (first === undefined) return [];
  const requests = calls.map(({ action, resourceType, resourceId }) => ({ action, resourceType, resourceId }));
  try {
    const answer = await withinTime(first.service.evaluate({ agent: first.caller.agentId, open: true, requests }));
    const { results } = answer as { readonly results: readonly { readonly reason: string | null }[] };
    return results.map(({ reason }) => reason === 'stopped' || reason === 'agent_suspended');
  } catch (error) {
    // The service reports no stop to a key that has ended, or whose agent is suspended or no longer its own.
    if (isOfEndedKey(error)) return calls.map(() => true);
    // The service refuses the whole list for one call that it would refuse anyway: that must not hide the stop of the
    // others.
    if (statusOf(error) === 400 && calls.length === 1) return [false];
    if (statusOf(error) === 400) return (await Promise.all(calls.map((call) => stoppedAmong([call])))).flat();
    throw error;
  }
}

function isOfEndedKey(error: unknown): boolean {
  const { reason } = Object(error) as { reason?: unknown };
  return statusOf(error) === 401 || reason === 'agent_suspended' || reason === 'agent_unknown';
}

function statusOf(error: unknown): unknown {
  return (Object(error) as { status?: unknown }).status;
}
