import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalJson, digestOf } from '../../../../typescript/src/canonical-json.js';
import type { GovernanceClient } from '../../../../typescript/src/index.js';
import type { CarryOut } from '../../mcp/governed-call.js';
import { NotSentError, UnknownOutcomeError } from '../../mcp/servers/unknown-outcome.js';
import { failedReport } from '../calls/failed-report.js';
import type { Report } from '../calls/journal.js';
import type { Reports } from '../calls/reports.js';

export interface JournaledCallParts {
  readonly governance: GovernanceClient;
  /** Name of the upstream. */
  readonly upstream: string;
  readonly reports: Reports;
}

/**
 * Carries out calls of an MCP server: each is in the journal before it is sent, and is reported with the gateway's own
 * key.
 */
export function journaledCalls({ governance, upstream, reports }: JournaledCallParts): CarryOut {
  return async (execution, run, { signal, stopped }) => {
    // A handler of the service, or an equal call, has carried it out: only the result is read.
    if (execution.outcome !== 'authorized') return governance.carryOut(execution, run, { signal });
    const report = (outcome: Report): void => reports.add(execution.id, outcome);
    const refusal = await reports.begin(execution, upstream);
    if (refusal !== null) throw new Error(refusal.message);
    if (signal.aborted || stopped.aborted) {
      report(failedReport('It was given up before it was sent.', 'not_sent'));
      throw (stopped.aborted ? stopped.reason : signal.reason) as Error;
    }
    try {
      const result = await run();
      // A large result takes a while in each step: others are served in between.
      await nextTurn();
      const { sha256, bytes } = await digestOf(canonicalJson(result));
      await nextTurn();
      report({ outcome: 'executed', result: { sha256, bytes } });
      return result;
    } catch (error) {
      const reason = reasonOf(error, { signal, stopped });
      report(failedReport(error instanceof Error ? error.message : String(error), reason));
      if (reason === 'outcome_unknown') await reports.untilTaken(execution.agentId);
      throw error;
    }
  };
}

/** Returns the reason of a failed call; undefined if the server itself answered that it failed. */
function reasonOf(
  error: unknown,
  { signal, stopped }: { readonly signal: AbortSignal; readonly stopped: AbortSignal },
): string | undefined {
  if (error instanceof NotSentError) return 'not_sent';
  if (stopped.aborted) return 'stopped';
  return signal.aborted || error instanceof UnknownOutcomeError ? 'outcome_unknown' : undefined;
}
