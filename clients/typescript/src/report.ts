import type { Execution } from './api-types.js';
import { canonicalJson, digestOf } from './canonical-json.js';
import { GovernanceError } from './governance-error.js';
import { NotBegunError, type Outcome, ResultNotReportedError } from './guard-errors.js';
import { NestedTooDeepError } from './plain-json.js';
import { jsonOf, textOf } from './thrown-text.js';
import type { SentRequest, Transport } from './transport.js';

/** Milliseconds to retry reporting an outcome while the service does not answer: what was done has to be recorded. */
const REPORT_PATIENCE = 10 * 60_000;
const FAILURE_LENGTH = 2_000;

/** The part of a result that the record keeps: all of it; `{ sha256, bytes }` of its RFC 8785 form; or nothing. */
export type KeptResults = 'full' | 'hash' | 'none';

interface Report {
  readonly outcome: 'executed' | 'failed';
  readonly result?: unknown;
  readonly failureReason?: string;
}

/** Reports the outcome of an action that ran. @throws ResultNotReportedError if the service does not accept it */
export async function reportOutcome(
  transport: Transport,
  execution: Execution,
  outcome: Outcome,
  results: KeptResults = 'full',
): Promise<void> {
  try {
    const report =
      'result' in outcome ? await reportOfResult(outcome.result, results) : reportOfFailure(textOf(outcome.error));
    await sendReport(transport, execution, report, { patience: REPORT_PATIENCE });
  } catch (cause) {
    throw new ResultNotReportedError(execution, outcome, cause);
  }
}

/**
 * Reports that an authorised action will not run. A failed report is not repeated for long, since no deed would be left
 * unrecorded. @throws NotBegunError
 */
export async function reportNotBegun(transport: Transport, execution: Execution, reason: unknown): Promise<void> {
  try {
    await sendReport(transport, execution, reportOfFailure(`It was given up before it began: ${textOf(reason)}`), {});
  } catch (cause) {
    throw new NotBegunError(execution, cause);
  }
}

/** A result that JSON cannot represent is not reported. */
async function reportOfResult(result: unknown, keptResults: KeptResults): Promise<Report> {
  const json = keptResults === 'none' ? undefined : jsonOf(result);
  if (json === undefined) return { outcome: 'executed' };
  const value = JSON.parse(json) as unknown;
  return { outcome: 'executed', result: keptResults === 'hash' ? await digestOf(canonicalJson(value)) : value };
}

function reportOfFailure(reason: string): Report {
  const failureReason = [...reason.trim()].slice(0, FAILURE_LENGTH).join('') || 'It failed without a reason.';
  return { outcome: 'failed', failureReason };
}

/**
 * In place of a result that the service does not accept as a value, such as one that is too large, its size is
 * recorded: the fact that the action was carried out has to be.
 */
async function sendReport(
  transport: Transport,
  { id }: Execution,
  report: Report,
  options: Pick<SentRequest, 'patience'>,
): Promise<void> {
  const path = `/api/v1/executions/${id}/result`;
  const send = (body: Report): Promise<unknown> => transport.json({ method: 'post', path, body, ...options });
  try {
    await send(report);
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    const { outcome, result } = report;
    const cut = { omitted: 'The result was not accepted as a value.', bytes: bytesOf(result) };
    await send(
      outcome === 'executed'
        ? { outcome, result: cut }
        : { outcome, failureReason: 'Its reason could not be recorded.' },
    );
  }
}

/** Returns the number of bytes of a result as JSON. */
function bytesOf(result: unknown): number {
  return new TextEncoder().encode(jsonOf(result) ?? '').length;
}

function isRefusedValue(error: unknown): boolean {
  if (error instanceof NestedTooDeepError) return true;
  return error instanceof GovernanceError && (error.status === 400 || error.status === 413);
}
