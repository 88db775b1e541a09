import { HttpException, HttpStatus, type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { CallerRefusal, DomainError, unreadable } from '../../core/errors/domain-error';
import { requestedPath } from '../request/arrival';
import type { Exchange } from '../request/service-request';
import { DatabaseFault } from '../../ledger/database/database-fault';
import { type ErrorCode, errorRow, ERRORS } from '../../core/errors/error-codes';
import { answerBeforeBody, isBodyToCome } from '../body/body-reader';
import { AccessDenials } from '../authentication/access-denials';
import { leaveGates } from '../gates';
import { AcceptedAnswer } from '../responses/accepted-answer';
import { JSON_TYPE } from '../responses/json-adapter';
import { isScimPath, SCIM_TYPE, scimErrorBody } from '../responses/scim-response';
import { DECISION_ID_HEADER, REASON_HEADER } from '../request/routes';

/** Maps statuses to codes; the first code of a status counts. Any other status below 500 is a fault of the request. */
const CODE_OF_STATUS: ReadonlyMap<number, ErrorCode> = new Map(
  (Object.keys(ERRORS) as ErrorCode[]).reverse().map((code) => [ERRORS[code].status, code]),
);

/** Converts a thrown value to an error of ours; undefined if it is unforeseen. */
function domainErrorOf(thrown: unknown): DomainError | undefined {
  if (thrown instanceof DomainError) return thrown;
  // The ledger reports its own failures; this is a read that could not reach the database.
  if (thrown instanceof DatabaseFault) {
    const isBusy = thrown.kind === 'unavailable' || thrown.kind === 'busy';
    return isBusy ? unreadable() : undefined;
  }
  if (thrown instanceof HttpException) return ofStatus(thrown.getStatus(), thrown.message);
  // Express and its middleware throw errors with the status of a client's mistake; their messages may quote internals.
  const status = thrown instanceof Error && 'status' in thrown ? thrown.status : undefined;
  const isClients = typeof status === 'number' && status >= 400 && status < 500;
  return isClients ? ofStatus(status, 'The request is malformed.') : undefined;
}

function ofStatus(status: number, message: string): DomainError | undefined {
  const code = CODE_OF_STATUS.get(status) ?? (status < 500 ? 'VALIDATION_ERROR' : undefined);
  return code === undefined || code === 'INTERNAL_ERROR' ? undefined : new DomainError(code, message);
}

/** The error that clients get for an unforeseen one. */
export const INTERNAL_ERROR = new DomainError(
  'INTERNAL_ERROR',
  'The service could not answer this request because of an internal error; it is logged under the request id.',
);

export function errorStatus(error: DomainError): number {
  return errorRow(error.code).status;
}

/** The body of every error answer. */
export function errorBody(error: DomainError, requestId: string): { readonly error: object } {
  const { requestId: firstRequestId = requestId, details, policy } = error.extras;
  const { reason = error.extras.conflict } = error.extras;
  const { decisionId, executionId, rejection } = error.extras;
  const { code, message } = error;
  return {
    error: { code, message, requestId: firstRequestId, details, reason, policy, decisionId, executionId, rejection },
  };
}

function explainingHeaders({ extras: { reason, decisionId } }: DomainError): Record<string, string> {
  return {
    ...(reason !== undefined && { [REASON_HEADER]: reason }),
    ...(decisionId !== undefined && { [DECISION_ID_HEADER]: decisionId }),
  };
}

/** Turns everything that is thrown into an answer of the common error shape. */
@Catch()
export class AllExceptionsFilter implements ExceptionFilter {
  private readonly logger = new Logger(AllExceptionsFilter.name);

  constructor(private readonly denials: AccessDenials) {}

  /** If a caller is refused because of its identity, that is recorded first. Nest waits for no filter. */
  catch(thrown: unknown, host: ArgumentsHost): void {
    if (thrown instanceof CallerRefusal)
      void this.denials.note(host.getArgs<Exchange>()[0], thrown).then((error) => this.answer(error, host));
    else this.answer(thrown, host);
  }

  private answer(thrown: unknown, host: ArgumentsHost): void {
    const [request, response] = host.getArgs<Exchange>();
    leaveGates(request);
    if (thrown instanceof AcceptedAnswer) {
      response.status(HttpStatus.ACCEPTED).location(thrown.location).json(thrown.body);
      return;
    }
    const error = domainErrorOf(thrown) ?? INTERNAL_ERROR;
    if (error === INTERNAL_ERROR) {
      this.logger.error({ msg: 'Unforeseen error', requestId: request.id, err: thrown });
    } else if (thrown instanceof DatabaseFault) {
      this.logger.error({ msg: 'The database cannot be read', requestId: request.id, err: thrown });
    }
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (request.isCut === true) response.setHeader('Connection', 'close');
    response.status(errorStatus(error)).set(error.extras.headers ?? {});
    if (request.traits.isForGateways) response.set(explainingHeaders(error));
    const isScim = isScimPath(requestedPath(request));
    const body = isScim ? scimErrorBody(error, errorStatus(error)) : errorBody(error, request.id);
    response.setHeader('Content-Type', isScim ? SCIM_TYPE : JSON_TYPE);
    if (isBodyToCome(request)) void answerBeforeBody(request, response, body);
    else response.json(body);
  }
}
