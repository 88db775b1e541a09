import { type GovernanceError, OutcomeUnknownError } from '../../typescript/src/index.js';

/** Codes of errors for no answer, or none by the service. */
const NO_ANSWER: ReadonlySet<string> = new Set(['UNREACHABLE', 'UNEXPECTED_ANSWER']);

/**
 * Returns why the service refused a call, and what would change that.
 *
 * @param keySource says where the key comes from that the service does not take
 */
export function refusalText(tool: string, error: GovernanceError, keySource: string): string {
  if (error instanceof OutcomeUnknownError) {
    return (
      `It is not known whether ${tool} was carried out: the governance service does not answer, or was stopped, and may have done so. ` +
      `Do not call it again before somebody has looked at its executions. ${error.explained()}`
    );
  }
  if (error.code === 'EXECUTION_FAILED') return `The service ran ${tool} itself, and that failed. ${error.message}`;
  if (NO_ANSWER.has(error.code) || (error.status ?? 0) >= 500) {
    return `${tool} was not run: the governance service does not answer, and nothing runs without its permission. ${error.message}`;
  }
  if (error.status === 401) return `${tool} was not run: ${error.message} ${keySource}`;
  return `${tool} was not run: ${error.explained()}`;
}
