import type { Agent } from './agent.entity';

const MOST_DAYS = 30;
const DAY = 24 * 60 * 60 * 1000;

/** Whether what no policy allows is authorised for the agent, and noted. Both times ISO 8601. */
export function isObserved({ observeUntil }: Pick<Agent, 'observeUntil'>, at: string): boolean {
  return observeUntil !== null && at < observeUntil;
}

/** What is wrong with the end of an observation; null ends it at once. */
export function observationFault(until: string | null, now: Date): string | undefined {
  const latest = new Date(now.getTime() + MOST_DAYS * DAY).toISOString();
  if (until === null || (until > now.toISOString() && until <= latest)) return undefined;
  return `must be null, or a time in the future, at most ${MOST_DAYS} days ahead: up to ${latest}`;
}
