import { randomUUID } from 'node:crypto';
import { reviewersWords } from '../../../../typescript/src/governance-error.js';
import type { Execution } from '../../../../typescript/src/index.js';
import type { ApprovalWaits } from '../../approval-waits.js';
import { stopCause } from '../../mcp/running-calls.js';
import { nextServiceKey } from './ask-headers.js';
import { Refusal } from './refusal.js';
import type { Reports } from './reports.js';
import {
  type CallerService,
  type ExecuteBody,
  ReplayedRefusal,
  ResumeConflict,
  type ServiceExecution,
} from './service-calls.js';

/**
 * Maximum number of requests to the service under one key of a client. Each follows an execution that ended
 * unauthorised or may be repeated.
 */
const MAX_LINKS = 10;

/** The request to the service to authorise one request of a client. */
export interface AuthorisationRequest {
  readonly service: CallerService;
  readonly agentId: string;
  readonly body: ExecuteBody;
  /** Idempotency key for the service, derived from that of the client; null if the client sent none. */
  readonly key: string | null;
  readonly repeat: string | null;
  readonly holdMs: number;
  readonly waits: ApprovalWaits;
  readonly reports: Pick<Reports, 'requireTaken'>;
  /** Fires when the client has gone. */
  readonly signal: AbortSignal;
  /** Fires when the call is stopped. */
  readonly stopped: AbortSignal;
}

/**
 * The step after an execution: send the request, because the execution was authorised for this request alone, or ask
 * the service again.
 */
type Step =
  | { readonly kind: 'authorised'; readonly execution: Execution }
  | { readonly kind: 'again'; readonly after: string };

/**
 * Returns an execution that the service has authorised for this very request, which may then be sent once.
 * @throws Refusal; the reason of `signal` if the client leaves while it waits
 */
export async function authorise(request: AuthorisationRequest): Promise<Execution> {
  let key = request.key ?? randomUUID();
  const holdUntil = performance.now() + request.holdMs;
  for (let link = 1; ; link += 1) {
    const holdMs = Math.max(0, holdUntil - performance.now());
    const step = await ask({ ...request, holdMs }, key, link === MAX_LINKS);
    if (step.kind === 'authorised') return step.execution;
    if (link === MAX_LINKS)
      throw new Refusal(409, null, 'Too many requests had this Idempotency-Key. Repeat it with another.');
    key = request.key === null ? randomUUID() : nextServiceKey(key, step.after);
  }
}

async function ask(request: AuthorisationRequest, idempotencyKey: string, isLast: boolean): Promise<Step> {
  const { service, agentId, body, repeat, key, reports, signal } = request;
  const isOwnKey = key === null;
  await reports.requireTaken(agentId, signal);
  let answer: ServiceExecution;
  try {
    answer = await service.execute(agentId, body, { idempotencyKey, repeat });
  } catch (error) {
    const { executionId = null } = error instanceof Refusal ? error.facts : {};
    if (executionId === null) throw error;
    // The service may answer differently now, so a refusal from an earlier request is not passed on.
    if (!isOwnKey && error instanceof ReplayedRefusal && !isLast) return { kind: 'again', after: executionId };
    if (!isAlreadyAuthorised(error)) throw error;
    // The answer to a key of the gateway was lost, so nothing was sent for it.
    if (isOwnKey) return { kind: 'again', after: executionId };
    return proceed(request, { execution: await service.read(executionId), isReplayed: true, isFirst: false }, false);
  }
  if (isOwnKey || !answer.isReplayed) return proceed(request, answer, true);
  return proceed(request, { ...answer, execution: await service.read(answer.execution.id) }, false);
}

/** True if the service authorised a request under the same key before, and would not do so now. */
function isAlreadyAuthorised(error: unknown): boolean {
  return error instanceof Refusal && error.status === 409 && error.reason === 'already_authorized';
}

/**
 * Decides how to go on with an execution.
 * @param isAnswer true if the service authorised the execution for this request; false if it was read afterwards and
 *   may have been authorised for another one
 */
async function proceed(request: AuthorisationRequest, answer: ServiceExecution, isAnswer: boolean): Promise<Step> {
  const { execution } = answer;
  switch (execution.outcome) {
    case 'pending_approval':
      return afterWait(request, await waitFor(request, answer));
    case 'approved':
      return resume(request, execution);
    case 'authorized':
      if (isAnswer) return { kind: 'authorised', execution };
      throw alreadySent(execution);
    case 'rejected':
      throw rejected(execution);
    case 'denied':
    case 'expired':
    case 'cancelled':
      return { kind: 'again', after: execution.id };
    case 'failed':
      // The client accepts that this very execution may have taken effect.
      if (execution.id === request.repeat && execution.reason === 'outcome_unknown')
        return { kind: 'again', after: execution.id };
      throw alreadySent(execution);
    case 'executed':
    case 'interrupted':
    case 'running':
      throw alreadySent(execution);
  }
}

async function waitFor(request: AuthorisationRequest, answer: ServiceExecution): Promise<Execution> {
  const { service, holdMs, waits, signal, stopped } = request;
  const { execution, isFirst } = answer;
  const end = AbortSignal.any([signal, stopped]);
  const wait = (): Promise<Execution> => service.wait(execution, Math.ceil(holdMs / 1_000), end);
  try {
    return await waits.during({ execution, isFirst, signal, wait, withdraw: () => service.cancel(execution.id) });
  } catch (error) {
    if (stopped.aborted && !signal.aborted) throw stoppedWhileWaiting(execution, stopCause(stopped));
    throw error;
  }
}

async function afterWait(request: AuthorisationRequest, execution: Execution): Promise<Step> {
  switch (execution.outcome) {
    case 'pending_approval':
      request.waits.promise(execution.id);
      throw approvalRequired(execution, 'Send the same request again: it waits, or passes once it is approved.');
    case 'approved':
      return resume(request, execution);
    case 'rejected':
      throw rejected(execution);
    case 'expired':
    case 'cancelled':
      throw approvalRequired(
        execution,
        `The decision is ${execution.outcome}: send the same request again to ask for a new approval.`,
      );
    case 'authorized':
    case 'denied':
    case 'executed':
    case 'failed':
    case 'interrupted':
    case 'running':
      return takenByAnother(request, execution);
  }
}

async function resume(request: AuthorisationRequest, execution: Execution): Promise<Step> {
  const { service, agentId, body, repeat, reports, signal } = request;
  signal.throwIfAborted();
  await reports.requireTaken(agentId, signal);
  try {
    const resumed = await service.resume(execution.id, body.via, { idempotencyKey: randomUUID(), repeat });
    if (resumed.execution.outcome === 'authorized') return { kind: 'authorised', execution: resumed.execution };
    throw alreadySent(resumed.execution);
  } catch (error) {
    if (!(error instanceof ResumeConflict)) throw error;
    return takenByAnother(request, await service.read(execution.id));
  }
}

/**
 * Decides how to go on after another call has used the approval, or the approval has ended. Without an idempotency key
 * of the client, the service is asked again.
 */
function takenByAnother({ key }: AuthorisationRequest, execution: Execution): Step {
  const { id, outcome } = execution;
  if (outcome === 'rejected') throw rejected(execution);
  if (key === null || outcome === 'expired' || outcome === 'cancelled') return { kind: 'again', after: id };
  throw alreadySent(execution);
}

function alreadySent({ id, outcome, decisionId }: Execution): Refusal {
  const message =
    `The request was authorised before, as the execution ${id}, which is ${outcome}. It is not sent again: ` +
    `GET /-/executions/${id} shows what came of it.`;
  return new Refusal(422, 'already_sent', message, { executionId: id, decisionId });
}

function rejected(execution: Execution): Refusal {
  const { id, decisionId, rejection } = execution;
  const message = `The request was rejected by the decision ${String(decisionId)}. ${reviewersWords(rejection)}`.trim();
  return new Refusal(403, 'approval_rejected', message, { executionId: id, decisionId, rejection: rejection ?? null });
}

/**
 * Makes the refusal of a call that was stopped while it waited. The request for approval stays open, because the agent
 * may continue once the stop is lifted or its key renewed.
 */
function stoppedWhileWaiting({ id, decisionId }: Execution, cause: string): Refusal {
  const message =
    `${cause} while the request waited for the decision ${String(decisionId)}, so nothing was sent. ` +
    'Once that is over, send the same request again: it waits, or passes once it is approved.';
  return new Refusal(403, 'stopped', message, { executionId: id, decisionId });
}

function approvalRequired({ id, decisionId }: Execution, advice: string): Refusal {
  const message = `The request was not sent: it needs an approval, by the decision ${String(decisionId)}. ${advice}`;
  return new Refusal(403, 'approval_required', message, { executionId: id, decisionId });
}
