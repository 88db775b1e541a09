import type { Execution } from './api-types.js';
import { GovernanceError } from './governance-error.js';
import { jsonOf, textOf } from './thrown-text.js';

/** Added to texts about an approval for which there were not enough approvers when it was asked for. */
export const TOO_FEW_APPROVERS =
  'Nobody, or too few, could approve it when it was asked for: an approver has to be added first.';

/**
 * The action needs an approval that has not been given yet. Asking again with the same arguments continues the same
 * request.
 */
export class ApprovalPendingError extends GovernanceError {
  override readonly name = 'ApprovalPendingError';

  constructor(
    readonly execution: Execution,
    /** True if this request created the request for approval. */
    readonly isFirst = false,
    /**
     * False if the service says that there are not enough approvers. It says so only to the request that asked first.
     */
    readonly isFeasible = true,
  ) {
    const waiting = `The action waits for the approval of the decision ${String(execution.decisionId)}.`;
    super(isFeasible ? waiting : `${waiting} ${TOO_FEW_APPROVERS}`, {
      code: 'APPROVAL_PENDING',
      status: 202,
      reason: 'approval_pending',
    });
  }
}

/**
 * No answer came to a request that may have made a handler of the service carry the action out, or the service stopped
 * while its handler ran. The function was not called. Do not repeat the action before you know: look at the executions
 * of the agent.
 */
export class OutcomeUnknownError extends GovernanceError {
  override readonly name = 'OutcomeUnknownError';

  constructor(cause: GovernanceError) {
    const { code, status, reason, requestId, details } = cause;
    super(
      `${cause.message} Whether a handler of the service carried the action out is not known: look at the executions of the agent before you repeat it.`,
      { code, status, reason, requestId, details, cause },
    );
    this.explanation = cause.explanation;
    this.isOutcomeUnknown = true;
  }
}

/** The outcome of an action that ran. */
export type Outcome = { readonly result: unknown } | { readonly error: unknown };

/** The action ran, and the service did not accept its outcome. Do not repeat the action. */
export class ResultNotReportedError extends GovernanceError {
  override readonly name = 'ResultNotReportedError';
  /** The value that the function returned or threw. */
  readonly result: unknown;
  private readonly outcome: Outcome;

  constructor(
    readonly execution: Execution,
    outcome: Outcome,
    cause: unknown,
  ) {
    const isDone = 'result' in outcome;
    const outcomeText = isDone
      ? `The action was carried out, but the result of the execution ${execution.id} could not be reported.`
      : `The action ran and failed, which could not be reported for the execution ${execution.id}.`;
    super(`${outcomeText} Do not repeat the action.`, { code: 'RESULT_NOT_REPORTED', status: null, cause });
    this.result = isDone ? outcome.result : outcome.error;
    this.outcome = outcome;
  }

  /** Returns the message, and the outcome that could not be recorded. */
  override explained(): string {
    if (!('result' in this.outcome)) return `${this.message}\nIts error: ${textOf(this.outcome.error)}`;
    const { result } = this.outcome;
    return `${this.message}\nIts result: ${typeof result === 'string' ? result : (jsonOf(result) ?? textOf(result))}`;
  }
}

/**
 * The signal was aborted before the authorised action began, and the service did not accept the report of that. The
 * function was not called.
 */
export class NotBegunError extends GovernanceError {
  override readonly name = 'NotBegunError';

  constructor(
    readonly execution: Execution,
    cause: unknown,
  ) {
    super(
      `The action was given up before it began, and has not run. That could not be reported: the execution ${execution.id} stays authorized.`,
      { code: 'NOT_BEGUN', status: null, cause },
    );
  }
}
