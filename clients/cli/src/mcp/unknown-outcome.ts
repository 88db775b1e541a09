import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { wasNeverConnected } from '../../../typescript/src/never-connected.js';
import { isLostAnswer } from './answering-transport.js';

/** Faults that the SDK finds before it sends anything. */
const NOT_SENT: ReadonlySet<unknown> = new Set([
  ...[SdkErrorCode.NotConnected, SdkErrorCode.CapabilityNotSupported, SdkErrorCode.MethodNotSupportedByProtocolVersion],
]);

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
  // Statuses below 500 are refusals.
  if (error instanceof SdkHttpError) return error.status >= 500;
  if (error instanceof InsufficientScopeError) return false;
  if (error instanceof SdkError) return !NOT_SENT.has(error.code);
  return !wasNeverConnected(error);
}
