import { DomainError, type ErrorExtras } from '../../errors/domain-error';
import type { ErrorCode } from '../../errors/error-codes';
import { Refusal } from '../ledger-transaction';

interface KeptRefusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly extras: ErrorExtras;
}

/** What a command came to, as JSON. Without a member: it returned nothing. */
interface KeptAnswer {
  readonly result?: unknown;
  readonly refusal?: KeptRefusal;
}

/** @throws TypeError when the result of a command is nothing that JSON carries. */
export function encodeAnswer(returned: unknown, requestId: string | null): string {
  const answer: KeptAnswer = returned instanceof Refusal ? refused(returned.error, requestId) : { result: returned };
  return JSON.stringify(answer);
}

/** What the command returned, the error of a refusal as a `Refusal`. */
export function decodeAnswer(text: string): unknown {
  const { result, refusal } = JSON.parse(text) as KeptAnswer;
  return refusal === undefined ? result : new Refusal(new DomainError(refusal.code, refusal.message, refusal.extras));
}

/** The body of a refusal names its request, and is to come out the same. */
function refused({ code, message, extras }: DomainError, requestId: string | null): KeptAnswer {
  return { refusal: { code, message, extras: { ...extras, ...(requestId !== null && { requestId }) } } };
}
