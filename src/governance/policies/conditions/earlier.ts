import { spelledPath } from '../patterns/resources';
import type { ConditionFacts, ConditionRequest, EarlierKey } from './facts';

/** What a policy requires of what the agent was authorised to do before, in the same run. */
export interface EarlierCondition {
  /** An action, or a pattern of actions. */
  readonly earlier: string;
  /** Left out: on any resource. */
  readonly resource?: 'same' | null;
  readonly op: 'exists';
  readonly value: boolean;
}

/** Identifies what is looked for among what was gathered. */
export function earlierName({ run, agentId, action, resource }: EarlierKey): string {
  return JSON.stringify([run, agentId, action, resource]);
}

/** A resource as it is compared with those of earlier executions. */
export function resourceKey({
  resourceType,
  resourceId,
}: Pick<ConditionRequest, 'resourceType' | 'resourceId'>): string {
  return `${resourceType}/${spelledPath(resourceId)}`;
}

/** Null without a run, and for a subject that is no registered agent: then nothing can be known. */
export function earlierKey({ earlier, resource }: EarlierCondition, request: ConditionRequest): EarlierKey | null {
  const { run = null, subject } = request;
  if (run === null || !('agentId' in subject) || subject.agentId === '') return null;
  return {
    run,
    agentId: subject.agentId,
    action: earlier,
    resource: resource === 'same' ? resourceKey(request) : null,
  };
}

export function earlierTest(
  condition: EarlierCondition,
): (request: ConditionRequest, facts: ConditionFacts) => boolean | 'unknown' {
  return (request, { earlier }) => {
    const key = earlierKey(condition, request);
    const found = key === null ? undefined : earlier.get(earlierName(key));
    return found === undefined ? 'unknown' : (found !== null) === condition.value;
  };
}
