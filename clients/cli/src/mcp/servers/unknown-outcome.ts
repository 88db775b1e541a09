import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { wasNeverConnected } from '../../../../typescript/src/never-connected.js';
import { isLostAnswer } from './messages.js';

/** Faults that the SDK finds before it sends anything. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  SdkErrorCode.NotConnected,
  SdkErrorCode.CapabilityNotSupported,
  SdkErrorCode.MethodNotSupportedByProtocolVersion,
]);

/** Statuses of an abandoned wait, during which the tool may have run. */
const GIVEN_UP: ReadonlySet<number> = new Set([408, 499]);

/** The call of a tool was sent, and no answer shows its outcome. */
export class UnknownOutcomeError extends Error {
  constructor(tool: string, cause: unknown) {
    const message = cause instanceof Error ? cause.message : String(cause);
    super(
      `It is not known what ${tool} has done: its server gave no usable answer (${message}). Do not call it again before somebody has looked.`,
      { cause },
    );
  }
}

/** No part of a request was sent. */
export class NotSentError extends Error {}

/** Throws an error that says that nothing was sent, as there is no connection. */
export function refuseUnsent(error: unknown): never {
  if (error instanceof NotSentError) throw error;
  throw new NotSentError(error instanceof Error ? error.message : String(error), { cause: error });
}

/** True if a tool may have run although its call failed with this error. */
export function mayHaveRun(error: unknown): boolean {
  if (error instanceof NotSentError) return false;
  if (error instanceof ProtocolError) return isLostAnswer(error);
  if (error instanceof SdkHttpError) return !isRefusal(error.status);
  if (error instanceof InsufficientScopeError) return false;
  if (error instanceof SdkError) return !NOT_SENT.has(error.code);
  return !wasNeverConnected(error);
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && !GIVEN_UP.has(status);
}
