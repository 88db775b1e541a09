/** SQL condition of the index of approvals that can expire. */
export const AWAITS_RESUME = `"outcome" = 'approved'`;
/** SQL condition for executions that were authorised, with any later outcome. */
export const WAS_AUTHORISED = `"outcome" IN ('authorized', 'running', 'executed', 'failed', 'interrupted')`;
/** SQL condition of the indexes that find the executions of a run. */
export const IS_EARLIER = `"run" IS NOT NULL AND ${WAS_AUTHORISED}`;
/** SQL condition of the indexes that find the executions of a period. */
export const IS_RECENT = `"erased" = 'false' AND ${WAS_AUTHORISED}`;
/** SQL condition of the indexes that find the executions that were resumed in a period. */
export const IS_RESUMED = `${IS_RECENT} AND "resumedSequence" IS NOT NULL`;
