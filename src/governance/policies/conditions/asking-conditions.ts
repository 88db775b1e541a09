import type { PolicyCondition } from './condition';
import { claimKey } from './claim';
import { earlierKey } from './earlier';
import type { ConditionQuestion, ConditionRequest } from './facts';

/** A condition that asks more than the request. */
export interface AskingCondition {
  /** Among the conditions of its policy. */
  readonly index: number;
  /** Null where nothing can be known. */
  readonly question: (request: ConditionRequest) => ConditionQuestion | null;
}

/** Null if there are none. */
export function askingConditions(conditions: readonly PolicyCondition[]): readonly AskingCondition[] | null {
  const asking = conditions.flatMap((condition, index): AskingCondition[] => {
    if ('claim' in condition) {
      const question: AskingCondition['question'] = (request) => {
        const claim = claimKey(condition, request);
        return claim === null ? null : { claim };
      };
      return [{ index, question }];
    }
    if (!('earlier' in condition)) return [];
    const question: AskingCondition['question'] = (request) => {
      const earlier = earlierKey(condition, request);
      return earlier === null ? null : { earlier };
    };
    return [{ index, question }];
  });
  return asking.length === 0 ? null : asking;
}
