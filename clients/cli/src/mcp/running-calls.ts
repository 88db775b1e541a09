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
}

/** Somebody stopped the agent of a call while it ran. */
export class StoppedError extends Error {}

/** Questions that the service takes at once. */
const MAX_QUESTIONS = 100;

/** The calls of this process that can be stopped. */
export class RunningCalls {
  private readonly calls = new Map<AbortController, RunningCall>();

  /** Runs a call with a signal that fires when it is stopped: from before it is authorised, so that no stop falls between. */
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

  /** Stops the calls of which the service says that they are stopped now. @throws errors of the service */
  async checkAll(): Promise<void> {
    const callers = new Set([...this.calls.values()].map(({ caller }) => caller.id));
    await Promise.all([...callers].map((id) => this.checkCaller(id)));
  }

  /** As `checkAll`, for the calls of one caller. @throws errors of the service */
  async checkCaller(id: string): Promise<void> {
    const calls = [...this.calls].filter(([, { caller }]) => caller.id === id);
    for (let start = 0; start < calls.length; start += MAX_QUESTIONS) {
      const batch = calls.slice(start, start + MAX_QUESTIONS);
      const stopped = await stoppedAmong(batch.map(([, call]) => call));
      batch.forEach(([controller], index) => {
        if (stopped[index] === true) controller.abort(new StoppedError());
      });
    }
  }

  private stopWhere(isMeant: (call: RunningCall) => boolean): void {
    for (const [controller, call] of this.calls) if (isMeant(call)) controller.abort(new StoppedError());
  }
}

/** True for each call that a stop covers, or whose agent is suspended. @param calls of one caller */
async function stoppedAmong(calls: readonly RunningCall[]): Promise<boolean[]> {
  const [first] = calls;
  if (first === undefined) return [];
  const requests = calls.map(({ action, resourceType, resourceId }) => ({ action, resourceType, resourceId }));
  try {
    const answer = await first.service.evaluate({ agent: first.caller.agentId, open: true, requests });
    const { results } = answer as { readonly results: readonly { readonly reason: string | null }[] };
    return results.map(({ reason }) => reason === 'stopped' || reason === 'agent_suspended');
  } catch (error) {
    // The service tells a key that has ended, or whose agent is suspended, of no stop.
    if (isOfEndedKey(error)) return calls.map(() => true);
    // The service refuses the whole list for one call that it would refuse anyway: that must not hide the stop of the others.
    if (statusOf(error) === 400 && calls.length === 1) return [false];
    if (statusOf(error) === 400) return (await Promise.all(calls.map((call) => stoppedAmong([call])))).flat();
    throw error;
  }
}

function isOfEndedKey(error: unknown): boolean {
  const { reason } = Object(error) as { reason?: unknown };
  return statusOf(error) === 401 || reason === 'agent_suspended';
}

function statusOf(error: unknown): unknown {
  return (Object(error) as { status?: unknown }).status;
}
