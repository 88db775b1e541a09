/** The reason of an execution that may or may not have taken effect. */
export const OUTCOME_UNKNOWN = 'outcome_unknown';
/** Condition of the index that finds such executions. */
export const IS_UNKNOWN = `"outcome" = 'failed' AND "reason" = '${OUTCOME_UNKNOWN}'`;
