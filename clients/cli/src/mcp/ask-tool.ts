import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server';
import { GovernanceError } from '../../../typescript/src/index.js';
import { MAX_QUESTION, MAX_TITLE } from '../../../typescript/src/question.js';
import { refusalText } from '../refusal-text.js';
import { changedNumberText, doubtfulNumberIn } from '../unsafe-number.js';
import type { SessionParts } from './client-session.js';
import { ServerEndedError, signalOf, whileActive } from './governed-call.js';
import { CallProgress } from './progress.js';
import { toolAnswers } from './tool-results.js';

/** Name of the tool by which an agent asks people. A server's tool of this name is not offered beside it. */
export const ASK_TOOL = 'gov__request_approval';
/** Scopes of a key, one of which is required to ask. */
const ASKING_SCOPES: ReadonlySet<string> = new Set(['propose', 'admin']);

const DEFINITION: Tool = {
  name: ASK_TOOL,
  title: 'Ask a person',
  description:
    'Asks people a question and returns their answer: yes or no, with their comment. An answer authorises nothing: what you do is ' +
    'checked as ever. If nobody answers in time, ask the same again later to get the answer.',
  inputSchema: {
    type: 'object',
    properties: {
      title: { type: 'string', maxLength: MAX_TITLE, description: 'The question in a few words.' },
      question: {
        type: 'string',
        maxLength: MAX_QUESTION,
        description: 'What people need to know, and what to decide.',
      },
      context: { type: 'object', description: 'Facts for whoever decides, as JSON.' },
    },
    required: ['title', 'question'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
};

/** The tool, if the session offers it and its key may propose decisions. @throws GovernanceError */
export async function listedAskTool({ ask, gate }: SessionParts): Promise<Tool[]> {
  if (ask === null) return [];
  const { scopes } = await gate.governance.get('/api/v1/me');
  return scopes.some((scope) => ASKING_SCOPES.has(scope)) ? [DEFINITION] : [];
}

/** Asks, and waits as calls wait for approvals. */
export async function callAskTool(
  { ask, gate, forWhom }: SessionParts,
  input: Readonly<Record<string, unknown>> | undefined,
  context: ServerContext,
): Promise<CallToolResult> {
  const { title, question, context: facts, ...unknownMembers } = input ?? {};
  const isValid =
    typeof title === 'string' &&
    typeof question === 'string' &&
    (facts === undefined || (typeof facts === 'object' && facts !== null && !Array.isArray(facts))) &&
    Object.keys(unknownMembers).length === 0;
  if (!isValid)
    return toolAnswers.refused(`${ASK_TOOL} takes "title" and "question", which are texts, and "context", an object.`);
  const doubtful = doubtfulNumberIn(facts, 'context');
  if (doubtful !== undefined) return toolAnswers.refused(changedNumberText(doubtful));
  const saying = CallProgress.from(context).startWaiting(`${title} waits for an answer.`);
  try {
    const signal = signalOf(gate.ended, context);
    const answer = gate.governance.ask(
      { title, question, ...(facts !== undefined && { context: facts as Record<string, unknown> }) },
      {
        ...{ agent: await gate.agent(), subjects: ask ?? ['*'], wait: gate.hold, signal },
        ...(forWhom.run !== undefined && { run: forWhom.run }),
      },
    );
    const { text } = await whileActive(gate, answer);
    return { content: [{ type: 'text', text }] };
  } catch (error) {
    if (error instanceof GovernanceError) return toolAnswers.refused(refusalText(ASK_TOOL, error, gate.keySource));
    if (error instanceof RangeError) return toolAnswers.refused(error.message);
    if (error instanceof ServerEndedError) return toolAnswers.refused('Nobody has answered: the MCP server ended.');
    throw error;
  } finally {
    saying.stop();
  }
}
