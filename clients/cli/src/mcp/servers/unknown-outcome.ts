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

/** Statuses of a wait that was given up, by which time the tool may have run. */
const GIVEN_UP: ReadonlySet<number> = new Set([408, 499]);

/** The call of a tool was sent, and nothing came back that says what became of it. */
export class UnknownOutcomeError extends Error {
  constructor(tool: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      `It is not known what ${tool} has done: its server gave no usable answer (${why}). Do not call it again before somebody has looked.`,
      { cause },
    );
  }
}

/** Whether a tool may have run although its call failed with this error. */
export function mayHaveRun(error: unknown): boolean {
  if (error instanceof ProtocolError) return isLostAnswer(error);
  if (error instanceof SdkHttpError) return !isRefusal(error.status);
  if (error instanceof InsufficientScopeError) return false;
  if (error instanceof SdkError) return !NOT_SENT.has(error.code);
  return !wasNeverConnected(error);
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && !GIVEN_UP.has(status);
}
