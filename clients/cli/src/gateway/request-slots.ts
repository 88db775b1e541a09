import { unavailable } from './calls/refusal.js';

const MAX_REQUESTS = 1_000;
const MAX_REQUESTS_OF_ONE_AGENT = 100;

export interface RequestBounds {
  readonly all: number;
  readonly perAgent: number;
}

/** Frees the slot. A second call changes nothing. */
export type LeaveSlot = () => void;

/** Bounds how many requests run at a time: of all agents, and of each: an agent may have many keys, and renews its tokens. */
export class RequestSlots {
  private running = 0;
  private readonly runningByAgent = new Map<string, number>();

  constructor(private readonly bounds: RequestBounds = { all: MAX_REQUESTS, perAgent: MAX_REQUESTS_OF_ONE_AGENT }) {}

  /** Requests that run now. */
  get count(): number {
    return this.running;
  }

  /** Takes a slot for a request of an agent. @throws Refusal 503 if there is none */
  enterAs(agentId: string): LeaveSlot {
    return this.enterMore(agentId, 1);
  }

  /**
   * Counts as many more requests that a request of an agent brings.
   * @throws Refusal 503 if there is no room for all of them
   */
  enterMore(agentId: string, count: number): LeaveSlot {
    if (this.running + count > this.bounds.all)
      throw unavailable('The gateway has as many requests as it takes at a time.');
    const leaveAgent = this.countFor(agentId, count);
    this.running += count;
    return once(() => {
      leaveAgent();
      this.running -= count;
    });
  }

  private countFor(agentId: string, count: number): LeaveSlot {
    const all = (this.runningByAgent.get(agentId) ?? 0) + count;
    if (all > this.bounds.perAgent) throw unavailable('The agent has as many requests as it may have at a time.');
    this.runningByAgent.set(agentId, all);
    return once(() => {
      const left = (this.runningByAgent.get(agentId) ?? count) - count;
      if (left === 0) this.runningByAgent.delete(agentId);
      else this.runningByAgent.set(agentId, left);
    });
  }
}

function once(action: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    action();
  };
}
