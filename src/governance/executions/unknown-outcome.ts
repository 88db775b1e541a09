/** The reason of an execution that may or may not have taken effect. */
export const OUTCOME_UNKNOWN = 'outcome_unknown';
/** The condition of the index by which such executions are found. */
export const IS_UNKNOWN = `"outcome" = 'failed' AND "reason" = '${OUTCOME_UNKNOWN}'`;
