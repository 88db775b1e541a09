import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { Execution } from '../../../typescript/src/index.js';
import { reviewersWords } from '../../../typescript/src/governance-error.js';
import { plain, printError } from '../output.js';

/** Makes the results of calls for their client. */
export interface Answers<Result> {
  /**
   * Returns a result that says why the call was not carried out.
   * @throws ProtocolError if the result has no place for it.
   */
  readonly refused: (text: string) => Result;
  /** Wraps a recorded value, which is not a tool result even if it looks like one. */
  readonly fromRecorded: (value: unknown) => Result;
  /** Adds a note to a result that could not be recorded. */
  readonly withNote: (result: Result, message: string) => Result;
}

/** The JSON of what is recorded in place of a result. */
const HASH_ONLY = /^\{(?=.*"sha256":"[0-9a-f]{64}")(?=.*"bytes":\d+)[^,{]*,[^,{]*\}$/;

export const toolAnswers: Answers<CallToolResult> = {
  refused: (text) => ({ isError: true, content: [{ type: 'text', text }] }),
  fromRecorded: (value) => ({ content: [{ type: 'text', text: recordedText(value) }] }),
  withNote: (result, message) => ({ ...result, content: [...result.content, { type: 'text', text: message }] }),
};

/**
 * Returns a recorded result as JSON; a hash alone, which `gov mcp` records unless told otherwise, is named as what it
 * is.
 */
function recordedText(value: unknown): string {
  const json = JSON.stringify(value ?? null);
  return HASH_ONLY.test(json)
    ? `The service, or an equal request, has carried it out. Only the hash of its result is kept: ${json}`
    : json;
}

/** Answers of requests whose results have no place for texts: the reading of a resource, a prompt. */
export function otherAnswers<Result>(): Answers<Result> {
  const refused = (text: string): never => {
    throw new ProtocolError(ProtocolErrorCode.InvalidRequest, text);
  };
  return {
    refused,
    fromRecorded: (value) =>
      refused(`The service, or an equal request, has carried it out: ${JSON.stringify(value ?? null)}`),
    withNote: (result, message) => {
      printError(plain(message));
      return result;
    },
  };
}

/** @param waitingText the request that waits, and its missing approvals */
export function pendingText(tool: string, { decisionId }: Execution, waitingText: string): string {
  return (
    `Approval pending: ${tool} was not run. It waits for the decision ${String(decisionId)} on ${waitingText} ` +
    'Call it again with the same arguments: once it is approved, that call goes through.'
  );
}

/** Returns a text about a wait that ended without an approval. */
export function endedText(tool: string, { outcome, decisionId, rejection }: Execution): string {
  if (outcome === 'rejected')
    return `${tool} was not run: the decision ${String(decisionId)} was rejected. ${plain(reviewersWords(rejection))}`.trim();
  if (outcome === 'expired') return `${tool} was not run: nobody decided on ${String(decisionId)} in time.`;
  if (outcome === 'cancelled') return `${tool} was not run: its request was cancelled.`;
  return `${tool} was not run: another call with the same arguments used the approval of ${String(decisionId)}.`;
}

/**
 * Returns the result only: other messages of a server, for example a question to the user, must not look like the
 * proxy's.
 */
export function resultOnly<Result extends object>(result: Result, ...members: readonly (keyof Result)[]): Result {
  const own = [...members, '_meta' as keyof Result].filter((name) => result[name] !== undefined);
  return Object.fromEntries(own.map((name) => [name, result[name]])) as Result;
}

/**
 * The error that a tool reported as its result, so that it is recorded as a failure; the client gets the result
 * unchanged.
 */
export class ReportedFailure extends Error {
  constructor(readonly result: CallToolResult) {
    super(textIn(result) || 'The tool reported an error without a text.');
  }
}

function textIn({ content }: CallToolResult): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}
