import type { DenialReason, AnyErrorCode } from './error-codes';
import { type FieldFault, MAX_FAULTS } from './field-fault';

export { type FieldFault, MAX_FAULTS as MOST_FAULTS };

export interface PolicyReference {
  readonly id: string;
  readonly name: string;
  readonly version: string;
}

/** Comment and alternative of the reviewer who rejected an execution. */
export interface RejectionWords {
  readonly comment: string | null;
  /** Alternative parameters that the reviewer would approve, with their grant; null if there are none. */
  readonly instead: { readonly parameters: Readonly<Record<string, unknown>>; readonly grantId: string | null } | null;
}

/** The words of RFC 7644 for what is wrong with a request. */
export type ScimType =
  | 'uniqueness'
  | 'invalidFilter'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';

export interface ErrorExtras {
  readonly details?: readonly FieldFault[];
  readonly reason?: DenialReason;
  /** Reason for which a record is in conflict: the `reason` of a 409. */
  readonly conflict?: 'managed_by_directory' | 'already_authorized';
  readonly policy?: PolicyReference;
  /** The decision that a refusal is about. */
  readonly decisionId?: string;
  /** The execution that was recorded as refused, or that was authorised before. */
  readonly executionId?: string;
  readonly rejection?: RejectionWords;
  /** SCIM's name for the fault, for responses below the path of SCIM. */
  readonly scimType?: ScimType;
  /** Id of the first request that was refused, if this one repeats it with the same idempotency key. */
  readonly requestId?: string;
  /** Response headers that belong to the error, such as `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that follows from a rule of the service; the exception filter turns it into the answer for its code. */
export class DomainError extends Error {
  constructor(
    readonly code: AnyErrorCode,
    message: string,
    readonly extras: ErrorExtras = {},
  ) {
    super(message);
    this.name = 'DomainError';
  }
}

/** Most faults in the message itself; `details` lists more. */
const MAX_FAULTS_IN_MESSAGE = 3;
/** Most characters of the faults in `details`. */
const MAX_CHARACTERS = 128 * 1024;

/** A malformed or invalid request, with the faults found in it. */
export function invalid(faults: readonly FieldFault[], extras: Pick<ErrorExtras, 'scimType'> = {}): DomainError {
  const listed = faults.slice(0, MAX_FAULTS_IN_MESSAGE).map((fault) => `${fault.field} ${fault.message}`);
  // Checks stop at the maximum number of reported faults, so there may be more.
  const least = faults.length < MAX_FAULTS ? 'and' : 'and at least';
  const more = faults.length > listed.length ? [`${least} ${faults.length - listed.length} more`] : [];
  const message = `Invalid input: ${[...listed, ...more].join('; ')}.`;
  return new DomainError('VALIDATION_ERROR', message, { ...extras, details: reported(faults) });
}

function reported(faults: readonly FieldFault[]): FieldFault[] {
  const details: FieldFault[] = [];
  let characters = 0;
  for (const fault of faults) {
    if (details.length >= MAX_FAULTS || characters >= MAX_CHARACTERS) break;
    details.push(fault);
    characters += fault.field.length + fault.message.length;
  }
  return details;
}

export function invalidField(field: string, message: string): DomainError {
  return invalid([{ field, message }]);
}

/** The request has no valid credential. */
export function unauthorized(): DomainError {
  return new DomainError(
    'UNAUTHORIZED',
    'A valid key or token is required, in exactly one header: X-API-Key, or Authorization with the scheme Bearer.',
    { headers: { 'WWW-Authenticate': 'ApiKey realm="governance", Bearer realm="governance"' } },
  );
}

export function notFound(subject: string): DomainError {
  return new DomainError('NOT_FOUND', `The ${subject} was not found.`);
}

/** Returns a value that was looked up. @throws NOT_FOUND if it is undefined */
export function requireFound<Value>(value: Value | undefined, subject: string): Value {
  if (value === undefined) throw notFound(subject);
  return value;
}

/** Returns a value that must exist because another record refers to it. */
export function requirePresent<Value>(value: Value | undefined, subject: string): Value {
  if (value === undefined) throw new Error(`The ${subject} is gone.`);
  return value;
}

export function conflict(message: string): DomainError {
  return new DomainError('CONFLICT', message);
}

/** @param what subject of the message's sentence: the things that only the directory changes */
export function managedByDirectory(what: string): DomainError {
  const message = `${what} is managed by the directory that this person comes from: change it there.`;
  return new DomainError('CONFLICT', message, { conflict: 'managed_by_directory' });
}

/** A request of a directory that is refused with a SCIM error type. */
export function scimFault(scimType: ScimType, message: string): DomainError {
  return new DomainError(scimType === 'uniqueness' ? 'CONFLICT' : 'VALIDATION_ERROR', message, { scimType });
}

/** @param sequence sequence of the entry that recorded the erasure */
export function contentErased(subject: string, sequence: number): DomainError {
  return new DomainError('CONTENT_ERASED', `The contents of ${subject} were erased, as the entry ${sequence} records.`);
}

export function permissionDenied(reason: DenialReason, message: string, extras: ErrorExtras = {}): DomainError {
  return new DomainError('PERMISSION_DENIED', message, { ...extras, reason });
}

export function policyDenied(policy: PolicyReference, message: string): DomainError {
  return new DomainError('POLICY_DENIED', message, { reason: 'policy_denied', policy });
}

const HAS_CHANGED =
  'The record has changed since the revision named in If-Match; a weak tag (W/…) names none. Read it again and repeat the change on its current revision.';

export function preconditionFailed(message = HAS_CHANGED): DomainError {
  return new DomainError('PRECONDITION_FAILED', message);
}

const NOTHING_WRITTEN = 'Nothing was written; repeating the request is safe.';
const PARTLY_WRITTEN = 'A part of the request may have been written; repeating it is safe.';

/** Work cannot be done now, for example because the database is down. Nothing was written; a retry is safe. */
export function unavailable(why: string, retryAfterSeconds = 1): DomainError {
  return unavailableWith(`${why} ${NOTHING_WRITTEN}`, retryAfterSeconds);
}

/** A read failed, perhaps after the request has written something. */
export function unreadable(): DomainError {
  return unavailableWith(
    'The database cannot be read now. What the request has written before, if anything, stays.',
    1,
  );
}

function unavailableWith(message: string, retryAfterSeconds: number): DomainError {
  return new DomainError('UNAVAILABLE', message, { headers: { 'Retry-After': String(retryAfterSeconds) } });
}

/** Runs work of several commits. @throws as `work`; its UNAVAILABLE says that some of them may have taken place */
export async function inSeveralCommits<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'UNAVAILABLE') throw error;
    throw new DomainError('UNAVAILABLE', error.message.replace(NOTHING_WRITTEN, PARTLY_WRITTEN), error.extras);
  }
}

/** A refusal that depends only on who the caller is. It is recorded as `access.denied`. */
export class CallerRefusal extends DomainError {
  /** @param scope first of the scopes that would suffice; null if no scope would */
  constructor(
    reason: DenialReason,
    message: string,
    readonly scope: string | null = null,
  ) {
    super('PERMISSION_DENIED', message, { reason });
    this.name = 'CallerRefusal';
  }
}

/** @param scopes scopes of which each would suffice */
export function scopeMissing(scopes: readonly string[]): CallerRefusal {
  const scopeList = scopes.map((scope) => `"${scope}"`).join(' or ');
  const message = `The key or token lacks the scope for this: ${scopeList}.`;
  return new CallerRefusal('scope_missing', message, scopes[0] ?? null);
}

/** @param scope the only scope of the key, which the route does not accept alone */
export function loneScopeRefused(scope: string): CallerRefusal {
  return new CallerRefusal(
    'scope_missing',
    `A key with the scope "${scope}" may not do this; any other scope suffices.`,
  );
}

/** Messages of refusals that depend only on who the caller is, by reason. */
const CALLER_REFUSALS = {
  agent_suspended: 'The agent that the key or token acts as is suspended. Somebody else has to resume it first.',
  // A token names an agent that does not exist, or for which its issuer is not trusted.
  agent_unknown: 'The token names no agent that its issuer may speak for.',
  // The request is about the caller's own agent, and the caller has none.
  caller_not_bound: 'This takes a key or token that is bound to the agent that acts.',
  not_this_agent: 'The key or token acts as one agent, and this is another.',
  not_reporter:
    'The execution was requested with `via`: only the gateway that carried it out reports its outcome, with a key of the scope "report".',
  not_this_principal: 'The key or token may not act on behalf of this principal, or not with these roles.',
  not_this_team:
    'The key belongs to a team, and may not do this: it writes what is of its team, and reads that and what all may read.',
  own_agent: 'The key or token acts as this agent. Somebody else has to change it.',
  reviewer_not_bound: 'A review of this decision needs a key or token that is bound to the reviewing agent.',
} as const satisfies Partial<Record<DenialReason, string>>;

export function callerRefused(reason: keyof typeof CALLER_REFUSALS): CallerRefusal {
  return new CallerRefusal(reason, CALLER_REFUSALS[reason]);
}

/**
 * Returns the message of a thrown value. An error about a host name with several addresses has messages only in its
 * inner errors.
 */
export function errorMessage(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(errorMessage).join('; ');
  return error instanceof Error ? error.message : String(error);
}
