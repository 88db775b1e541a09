import { invalidField } from '../../../core/errors/domain-error';
import {
  comparisonsFault,
  listsFault,
  MAX_COMPARISONS_OF_EXPLANATION,
  MAX_COMPARISONS_OF_QUESTION,
  MAX_COMPARISONS_OF_REQUEST,
} from './comparison-bounds';
import type { EvaluationRequest } from './evaluation';
import type { PolicySet } from './policy-evaluator';

interface CounterOptions {
  /** Member of the request that is at fault if all checks need too many comparisons. */
  readonly field: string;
  /** True if the answers are explained, which examines more policies. */
  readonly isExplained?: boolean | undefined;
}

/** Counts the items that conditions would compare for the checks of one request, before any are compared. */
export class ComparisonCounter {
  private sum = 0;
  private questions = 0;

  constructor(
    private readonly policies: Pick<PolicySet, 'comparisons'>,
    private readonly options: CounterOptions,
  ) {}

  /**
   * @param field member that is at fault if the check alone needs too many
   * @throws VALIDATION_ERROR if there are too many for the check, or for all of them
   */
  count(request: EvaluationRequest, field: string): void {
    const count = this.policies.comparisons(request);
    if (count > MAX_COMPARISONS_OF_QUESTION) throw invalidField(field, listsFault());
    const explained = this.options.isExplained === true ? this.policies.comparisons(request, true) : 0;
    if (explained > MAX_COMPARISONS_OF_EXPLANATION)
      throw invalidField(field, listsFault(MAX_COMPARISONS_OF_EXPLANATION));
    this.sum += count + explained;
    this.questions += 1;
    if (this.sum > MAX_COMPARISONS_OF_REQUEST) throw invalidField(this.options.field, comparisonsFault(this.questions));
  }
}
