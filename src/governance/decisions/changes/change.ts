import type { Agent } from '../../agents/agent.entity';
import type { Caller } from '../../../ledger/kinds/caller';
import type { JsonObject } from '../../../core/json/json-value';
import type { Change } from '../change-content';
import type { Decision } from '../decision.entity';

/** The types of decisions that only the service makes. */
export const CHANGE_TYPE = 'change';
export const CHANGE_REVIEW_TYPE = 'change_review';
export const CHANGE_TYPES: readonly string[] = [CHANGE_TYPE, CHANGE_REVIEW_TYPE];

type ChangeDecision = Pick<Decision, 'type' | 'change'>;

/** True for a decision on a change, or on one that was made in an emergency. */
export function isAboutChange({ change }: Pick<Decision, 'change'>): boolean {
  return change !== null;
}

/** True for a change that was made in an emergency and waits for its review. */
export function isChangeReview({ type, change }: ChangeDecision): boolean {
  return change !== null && type === CHANGE_REVIEW_TYPE;
}

/**
 * True if the agent may decide on a change. Only people may; an emergency is reviewed by another person, registered
 * before it. True for every agent if the decision is about no change.
 * @param emergencies times of the emergencies without a review; people registered in them decide on no change
 */
export function mayDecide(
  decision: ChangeDecision & Pick<Decision, 'proposedBy' | 'context'>,
  { id, kind, createdAt }: Pick<Agent, 'id' | 'kind' | 'createdAt'>,
  emergencies: ReadonlySet<string>,
): boolean {
  if (!isAboutChange(decision)) return true;
  if (kind !== 'human' || emergencies.has(createdAt)) return false;
  return !isChangeReview(decision) || (id !== decision.proposedBy && createdAt < registeredBefore(decision.context));
}

/** Context for the review of an emergency: people registered before this time may review it. */
export function reviewContext(before: string): JsonObject {
  return { before };
}

/** Returns the time; if the context has none, an empty text, before which nobody was registered. */
function registeredBefore({ before }: JsonObject): string {
  return typeof before === 'string' ? before : '';
}

/** The change as a passkey signs it, before it is made. */
export function signedChange({ method, path, bodyHash, summary, rules }: Change): JsonObject {
  return { method, path, bodyHash, summary, ...(rules !== undefined && { rules }) };
}

/**
 * True for the caller who proposed the change. The subject of a token is a different caller with each of its agents.
 */
export function isProposerOf(
  { actor, proposedBy }: Pick<Decision, 'actor' | 'proposedBy'>,
  caller: Pick<Caller, 'actor' | 'agentId'>,
): boolean {
  const isSameActor = actor?.type === caller.actor.type && actor.id === caller.actor.id;
  return isSameActor && proposedBy === caller.agentId;
}
