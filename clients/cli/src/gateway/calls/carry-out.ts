import { createHash } from 'node:crypto';
import type { Execution } from '../../../../typescript/src/index.js';
import { stopCause } from '../../mcp/running-calls.js';
import type { ClientExchange } from '../listener/http-listener.js';
import { deliver, type Delivery } from '../response/deliver.js';
import { filterResponse, type ResponseContext } from '../response/response-filter.js';
import type { SendFailure, UpstreamResponse } from '../upstream/exchange.js';
import type { UpstreamClient, UpstreamRequest } from '../upstream/upstream-client.js';
import { failedReport } from './failed-report.js';
import type { Report } from './journal.js';
import { Refusal } from './refusal.js';
import type { Reports } from './reports.js';

/** A request that may be sent once, and only now. */
export interface AuthorisedRequest {
  readonly exchange: ClientExchange;
  /** Null for a request that is only evaluated. */
  readonly execution: Execution | null;
  readonly request: UpstreamRequest;
  readonly client: UpstreamClient;
  /** Name of the upstream. */
  readonly upstream: string;
  readonly context: ResponseContext;
  readonly reports: Reports;
  /** Fires when the call is stopped. */
  readonly stopped: AbortSignal;
}

/**
 * Sends a request that is authorised, returns its answer, and reports what became of it.
 * @throws Refusal if no part of an answer was returned
 */
export async function carryOut(call: AuthorisedRequest): Promise<void> {
  const { exchange, execution, client, request, reports, stopped } = call;
  await noteInJournal(call);
  if (exchange.left.aborted) {
    report(call, failedReport('The client left before the request was sent.', 'not_sent'));
    return;
  }
  const result = await client.send(request, stopped);
  if (result.kind === 'failure') {
    const refusal = failureRefusal(call, result);
    if (execution !== null && refusal.reason === 'outcome_unknown') await reports.untilTaken(execution.agentId);
    throw refusal;
  }
  await passOn(call, result);
}

const NOTHING_RETURNED: Delivery = { sha256: createHash('sha256').digest('hex'), bytes: 0, cut: 'upstream' };

/** Returns an answer to the client. Its status is reported even if its body is cut. */
async function passOn(call: AuthorisedRequest, answer: UpstreamResponse): Promise<void> {
  const { exchange, context, execution, stopped } = call;
  const { response, left } = exchange;
  if (left.aborted) {
    answer.body.destroy();
    report(call, reportOf(answer.status, NOTHING_RETURNED));
    return;
  }
  const filtered = await filterResponse(answer, context);
  // The call was stopped while the whole body was read, so nothing was returned.
  if (stopped.aborted && answer.body.errored !== null) throw stoppedRefusal(call);
  if (filtered.kind === 'response') {
    const delivery = await deliver(filtered, response);
    report(call, stopped.aborted && delivery.cut !== null ? stoppedReport(stopped) : reportOf(answer.status, delivery));
    return;
  }
  report(call, reportOf(answer.status, NOTHING_RETURNED));
  throw withExecution(new Refusal(filtered.status, filtered.reason, filtered.message), execution);
}

/**
 * Writes the execution to the journal before the request is sent.
 * @throws Refusal 503 if the request must not be sent, because the journal or the gateway's own key cannot be used; 422
 *   if it was sent before
 */
async function noteInJournal({ execution, reports, upstream }: AuthorisedRequest): Promise<void> {
  if (execution === null) return;
  const refusal = await reports.begin(execution, upstream);
  if (refusal !== null) throw refusal;
}

function failureRefusal(call: AuthorisedRequest, { reason, code }: SendFailure): Refusal {
  const { execution, stopped, upstream } = call;
  if (stopped.aborted && reason === 'not_sent') {
    const message = `${stopCause(stopped)} before the request was sent, so nothing was sent.`;
    report(call, failedReport(message, 'not_sent'));
    return withExecution(new Refusal(403, 'stopped', message), execution);
  }
  if (stopped.aborted) return stoppedRefusal(call);
  if (reason === 'not_sent') {
    report(call, failedReport(`The upstream could not be reached (${code}).`, 'not_sent'));
    const message = `The upstream ${upstream} cannot be reached (${code}), so nothing was sent.`;
    return withExecution(new Refusal(502, 'upstream_unreachable', message), execution);
  }
  report(call, failedReport(`The upstream gave no answer (${code}).`, 'outcome_unknown'));
  const message =
    `The upstream ${upstream} gave no answer (${code}), so it is not known whether the request was carried out. ` +
    'Find that out before you repeat it.';
  return withExecution(new Refusal(422, 'outcome_unknown', message), execution);
}

function withExecution({ status, reason, message, facts }: Refusal, execution: Execution | null): Refusal {
  if (execution === null) return new Refusal(status, reason, message, facts);
  return new Refusal(status, reason, message, { ...facts, executionId: execution.id });
}

function report({ execution, reports }: AuthorisedRequest, outcome: Report): void {
  if (execution !== null) reports.add(execution.id, outcome);
}

function stoppedRefusal(call: AuthorisedRequest): Refusal {
  report(call, stoppedReport(call.stopped));
  return withExecution(new Refusal(403, 'stopped', stoppedText(call.stopped)), call.execution);
}

function stoppedText(stopped: AbortSignal): string {
  return `${stopCause(stopped)} while the request ran; what it had done by then is not known.`;
}

function stoppedReport(stopped: AbortSignal): Report {
  return failedReport(stoppedText(stopped), 'stopped');
}

const FIRST_ERROR = 400;

function reportOf(status: number, { sha256, bytes, cut }: Delivery): Report {
  if (status >= FIRST_ERROR) return failedReport(`HTTP ${status}`);
  return { outcome: 'executed', result: { status, sha256, bytes, ...(cut !== null && { cut: true }) } };
}
