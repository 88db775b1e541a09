import type { Tool } from '@modelcontextprotocol/client';
import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';
import { isNameable, type Mapping, requestOf, takesResourceFromArgument } from './mapping.js';

type Answer = Schemas['AnswerResponse'];
type Question = ReturnType<typeof requestOf>;

/** How many requests one question with `explain` takes. */
const AT_ONCE = 50;

/**
 * Leaves out the tools that no arguments could make allowed. The annotations of a tool do not count.
 * @throws GovernanceError if the service does not answer: then no tool is shown.
 */
export async function visibleTools(
  governance: GovernanceClient,
  agent: string,
  mapping: Mapping,
  server: string,
  listed: readonly Tool[],
): Promise<Tool[]> {
  const tools = listed.filter(({ name }) => isNameable(mapping, name));
  const asked = tools.filter(({ name }) => !takesResourceFromArgument(mapping, name));
  const hidden = new Set<Tool>();
  for (let start = 0; start < asked.length; start += AT_ONCE) {
    const some = asked.slice(start, start + AT_ONCE);
    const answers = await answersTo(
      governance,
      agent,
      some.map(({ name }) => requestOf(mapping, server, name, undefined)),
    );
    some.forEach((tool, index) => {
      if (!mayBeAllowed(answers[index])) hidden.add(tool);
    });
  }
  return tools.filter((tool) => !hidden.has(tool));
}

/** A tool whose name the service refuses as a name gets no answer: its calls would be refused, too. */
function mayBeAllowed(answer: Answer | undefined): boolean {
  return answer !== undefined && answer.explanation?.bestEffect !== 'deny';
}

async function answersTo(
  governance: GovernanceClient,
  agent: string,
  requests: readonly Question[],
): Promise<(Answer | undefined)[]> {
  try {
    const body = { agent, explain: true, requests: [...requests] };
    return (await evaluated(governance, body)) as Answer[];
  } catch (error) {
    if (!isOfNames(error)) throw error;
    // A single refused name must not hide the others.
    if (requests.length === 1) return [undefined];
    const answers: (Answer | undefined)[] = [];
    for (const request of requests) answers.push(...(await answersTo(governance, agent, [request])));
    return answers;
  }
}

async function evaluated(governance: GovernanceClient, body: object): Promise<readonly Answer[]> {
  const answer = await governance.post('/api/v1/policies/evaluate', { body: body });
  return (answer as Schemas['EvaluationsResponse']).results;
}

/** Whether what is asked about was refused. An agent that does not exist may not look like one that may call nothing. */
function isOfNames(error: unknown): boolean {
  if (!(error instanceof GovernanceError) || error.status !== 400) return false;
  return !error.details.some(({ field }) => field === 'agent');
}
