import { matchesAction } from '../../core/values/action-pattern';

/** What a stop covers: requests that match all that is given. If nothing is given, it covers everything. */
export interface StopScope {
  readonly agentId: string | null;
  readonly role: string | null;
  readonly actions: readonly string[];
}

/** Who asks; without an id where it is no registered agent. */
export interface StoppableSubject {
  readonly agentId?: string;
  readonly roles: readonly string[];
}

/** The oldest of the stops that covers it. @param stops the oldest first. */
export function stopCovering<Stop extends StopScope>(
  stops: readonly Stop[],
  subject: StoppableSubject,
  action: string,
): Stop | undefined {
  return stops.find((stop) => concerns(stop, subject) && coversAction(stop, action));
}

/** Whether it can cover anything that the subject asks for. */
export function concerns({ agentId, role }: StopScope, subject: StoppableSubject): boolean {
  return (agentId === null || agentId === subject.agentId) && (role === null || subject.roles.includes(role));
}

export function coversAction({ actions }: StopScope, action: string): boolean {
  return actions.length === 0 || actions.some((pattern) => matchesAction(pattern, action));
}

export function coversEverything({ agentId, role, actions }: StopScope): boolean {
  return agentId === null && role === null && (actions.length === 0 || actions.includes('*'));
}

/** Whether two stops say the same. The order of actions does not matter. */
export function isSameContent(one: StopContent, other: StopContent): boolean {
  const areSameActions =
    one.actions.length === other.actions.length && one.actions.every((action) => other.actions.includes(action));
  return areSameActions && one.agentId === other.agentId && one.role === other.role && one.reason === other.reason;
}

export interface StopContent extends StopScope {
  readonly reason: string;
}
