import type { DenialReason, ErrorCode } from './error-codes';
import { FaultList } from './fault-list';

/** One fault in a request. `field` is a path such as `context.confidence`, `capabilities[1]`, `query.limit`. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

export interface PolicyReference {
  readonly id: string;
  readonly name: string;
  readonly version: string;
}

export interface ErrorExtras {
  readonly details?: readonly FieldFault[];
  readonly reason?: DenialReason;
  readonly policy?: PolicyReference;
  /** Of the request that was refused first, where this one repeats it under the same idempotency key. */
  readonly requestId?: string;
  /** Response headers that belong to the error, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a rule of the service refuses; the exception filter turns it into the answer its code stands for. */
export class DomainError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly extras: ErrorExtras = {},
  ) {
    super(message);
    this.name = 'DomainError';
  }
}

/** Faults told in the message itself; `details` has as many as anybody reads. */
const FAULTS_IN_MESSAGE = 3;

/** A malformed or invalid request, with the faults found in it. */
export function invalid(faults: readonly FieldFault[]): DomainError {
  const list = FaultList.of(faults);
  const told = faults.slice(0, FAULTS_IN_MESSAGE).map((fault) => `${fault.field} ${fault.message}`);
  const untold = faults.length - told.length;
  // Where the list is full, whoever found them stopped as well.
  const more = list.isFull ? `at least ${untold} more` : `${untold} more`;
  const summary = untold > 0 ? `${told.join('; ')}; and ${more}` : told.join('; ');
  return new DomainError('VALIDATION_ERROR', `Invalid input: ${summary}.`, { details: list.faults });
}

export function invalidField(field: string, message: string): DomainError {
  return invalid([{ field, message }]);
}

export function notFound(what: string): DomainError {
  return new DomainError('NOT_FOUND', `The ${what} was not found.`);
}

export function conflict(message: string): DomainError {
  return new DomainError('CONFLICT', message);
}

export function permissionDenied(reason: DenialReason, message: string): DomainError {
  return new DomainError('PERMISSION_DENIED', message, { reason });
}

export function policyDenied(policy: PolicyReference, message: string): DomainError {
  return new DomainError('POLICY_DENIED', message, { reason: 'policy_denied', policy });
}

export function preconditionFailed(): DomainError {
  return new DomainError(
    'PRECONDITION_FAILED',
    'The record has changed since the revision named in If-Match. Read it again and repeat the change on its current revision.',
  );
}

/** The database cannot take the write now: nothing was written and a retry is safe. */
export function unavailable(why: string, retryAfterSeconds = 1): DomainError {
  return new DomainError('UNAVAILABLE', `${why} Nothing was written; repeating the request is safe.`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}
