import type { GovernanceClient } from 'agent-governance-client';
import type { GovernedOptions } from './governed.js';

/** @template Context the value that the framework passes along with a call */
export type RequestApprovalOptions<Context = unknown> = Pick<GovernedOptions<Context>, 'agent' | 'run' | 'wait'>;

export const TOOL_NAME = 'request_approval';

export const DESCRIPTION =
  'Asks people a question and returns their answer: yes or no, with their comment. An answer authorises nothing: what you do is ' +
  'checked as ever. If nobody has answered yet, ask the same again later to get the answer.';

/** JSON Schema of the tool's input. */
export const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    title: { type: 'string', maxLength: 200, description: 'The question in a few words.' },
    question: { type: 'string', maxLength: 2_000, description: 'What people need to know, and what to decide.' },
    context: { type: 'object', description: 'Facts for whoever decides, as JSON.', additionalProperties: true },
  },
  required: ['title', 'question'],
  additionalProperties: false,
} as const;

/** The people that an agent asks. */
export interface PeopleQuestions<Context> {
  readonly governance: GovernanceClient;
  /** The people who may answer, as policies name approvers. */
  readonly subjects: readonly string[];
  readonly options: RequestApprovalOptions<Context>;
}

/** A call of the tool. */
export interface AskedQuestion<Context> {
  readonly input: unknown;
  readonly context: Context;
  readonly signal: AbortSignal | undefined;
}

/**
 * Returns the answer for the model, or the reason for which the service, or the client, refuses the question. @throws
 * the reason of `signal`
 */
export async function answerFor<Context>(
  { governance, subjects, options: { agent, run: runOption, wait } }: PeopleQuestions<Context>,
  { input, context, signal }: AskedQuestion<Context>,
): Promise<string> {
  const { title, question, context: facts } = Object(input) as Readonly<Record<string, unknown>>;
  if (!isObjectOrMissing(facts)) return 'The question was not asked. "context" must be an object.';
  const run = typeof runOption === 'function' ? runOption(context) : runOption;
  try {
    const answer = await governance.ask(
      {
        ...{ title: textIn(title), question: textIn(question) },
        ...(facts !== undefined && facts !== null && { context: facts }),
      },
      {
        subjects,
        ...(agent !== undefined && { agent }),
        ...(run !== undefined && { run }),
        ...(wait !== undefined && { wait }),
        ...(signal !== undefined && { signal }),
      },
    );
    return answer.text;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    return `The question was not asked. ${error instanceof Error ? error.message : String(error)}`;
  }
}

function isObjectOrMissing(value: unknown): value is Readonly<Record<string, unknown>> | null | undefined {
  return value === undefined || value === null || (typeof value === 'object' && !Array.isArray(value));
}

/** Returns the text; empty for any other value, so that the question is refused. */
function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
