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

/** A call may not go on. The message is the cause, as the beginning of a sentence. */
export class StoppedError extends Error {}

const AGENT_STOPPED = 'Somebody stopped the agent';
const KEY_ENDED = 'The key or token of the agent ended';
const UNANSWERED = 'The service did not answer';

/** Returns why the call of this signal was stopped, as the beginning of a sentence. */
export function stopCause({ reason }: AbortSignal): string {
  return reason instanceof StoppedError ? reason.message : AGENT_STOPPED;
}

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
    this.stopWhere(({ caller }) => caller.agentId === agentId, AGENT_STOPPED);
  }

  stopKey(keyId: string): void {
    this.stopWhere(({ caller }) => caller.actorId === keyId, KEY_ENDED);
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
      for (const controller of unknown.keys()) controller.abort(new StoppedError(UNANSWERED));
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

  private stopWhere(isMeant: (call: RunningCall) => boolean, cause: string): void {
    for (const [controller, call] of this.calls) if (isMeant(call)) controller.abort(new StoppedError(cause));
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
    const causes = await causesOrListed(batch.map(([, call]) => call));
    batch.forEach(([controller], index) => {
      const cause = causes[index] ?? null;
      if (cause !== null) controller.abort(new StoppedError(cause));
      calls.delete(controller);
    });
  }
}

/**
 * Finds why calls are stopped: by the list of stops if the evaluation fails, because an agent still gets it after its
 * rate limit is used up.
 */
async function causesOrListed(calls: readonly RunningCall[]): Promise<(string | null)[]> {
  try {
    return await causesOf(calls);
  } catch (error) {
    const [first] = calls;
    const stops = await first?.service.activeStops().catch((listError: unknown) => {
      const cause = callerFault(listError);
      if (cause === null) throw error;
      return cause;
    });
    if (typeof stops === 'string') return calls.map(() => stops);
    return calls.map((call) => (stops?.some((stop) => mayCover(stop, call)) ? AGENT_STOPPED : null));
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

/** Returns for each call why it is stopped, null for one that may go on. @param calls of one caller */
async function causesOf(calls: readonly RunningCall[]): Promise<(string | null)[]> {
  const [first] = calls;
  if (first === undefined) return [];
  const requests = calls.map(({ action, resourceType, resourceId }) => ({ action, resourceType, resourceId }));
  try {
    const answer = await withinTime(first.service.evaluate({ agent: first.caller.agentId, open: true, requests }));
    const { results } = answer as { readonly results: readonly { readonly reason: string | null }[] };
    return results.map(({ reason }) => (reason === 'stopped' || reason === 'agent_suspended' ? AGENT_STOPPED : null));
  } catch (error) {
    const cause = callerFault(error);
    if (cause !== null) return calls.map(() => cause);
    // The service refuses the whole list for one call that it would refuse anyway: that must not hide the stop of the
    // others.
    if (statusOf(error) === 400 && calls.length === 1) return [null];
    if (statusOf(error) === 400) return (await Promise.all(calls.map((call) => causesOf([call])))).flat();
    throw error;
  }
}

/**
 * Returns why the service answers none of the caller's requests; null for other errors. It reports no stop to a key
 * that has ended, or whose agent is suspended or no longer its own.
 */
function callerFault(error: unknown): string | null {
  const { reason } = Object(error) as { reason?: unknown };
  if (statusOf(error) === 401) return KEY_ENDED;
  return reason === 'agent_suspended' || reason === 'agent_unknown' ? AGENT_STOPPED : null;
}

function statusOf(error: unknown): unknown {
  return (Object(error) as { status?: unknown }).status;
}
