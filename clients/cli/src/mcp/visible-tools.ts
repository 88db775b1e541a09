import type { Tool } from '@modelcontextprotocol/client';
import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';
import { printError } from '../output.js';
import type { PrincipalOptions } from '../principal-options.js';
import { isNameable, type Mapping, requestOf, takesResourceFromArgument } from './mapping.js';
import type { RateLimitLeft } from './rate-limit-left.js';

type Question = ReturnType<typeof requestOf>;

/** How many requests one question takes. */
const AT_ONCE = 1_000;
/** Milliseconds after which answers are asked for anew: the agent may have changed, which no set of policies shows. */
const LONGEST_KEPT = 60_000;

/**
 * The tools of a server that some arguments could make allowed. Each is asked about once for a set of policies, and never
 * with more than half of the requests that the rate limit leaves. The annotations of a tool do not count.
 */
export class VisibleTools {
  /** By question as JSON, for the set of policies that answered last. */
  private readonly known = new Map<string, boolean>();
  private policySet = '';
  private since = 0;
  private reported = '';

  constructor(
    private readonly governance: GovernanceClient,
    private readonly mapping: Mapping,
    private readonly server: string,
    private readonly left: RateLimitLeft,
    private readonly forWhom: PrincipalOptions,
  ) {}

  /** @throws GovernanceError if the service does not answer: then no tool is shown. */
  async among(agent: string, listed: readonly Tool[]): Promise<Tool[]> {
    const tools = listed.filter(({ name }) => isNameable(this.mapping, name));
    const asked = tools.filter(({ name }) => !takesResourceFromArgument(this.mapping, name));
    const questions = new Map(asked.map(({ name }) => [name, requestOf(this.mapping, this.server, name, undefined)]));
    const all = [...questions.values()];
    await this.ask(agent, all);
    const isVisible = ({ name }: Tool): boolean => {
      const question = questions.get(name);
      return question === undefined || this.known.get(keyOf(question)) === true;
    };
    const visible = tools.filter(isVisible);
    this.report(listed.length - visible.length, all.filter((question) => !this.known.has(keyOf(question))).length);
    return visible;
  }

  private async ask(agent: string, questions: readonly Question[]): Promise<void> {
    if (Date.now() - this.since > LONGEST_KEPT) this.known.clear();
    if (this.known.size === 0) this.since = Date.now();
    let allowed = this.left.half();
    if (allowed < 1) return;
    const unknown = (): Question[] => questions.filter((question) => !this.known.has(keyOf(question)));
    // A question that has an answer shows whether the policies are still the same.
    let some = unknown().length === 0 ? questions.slice(0, 1) : unknown().slice(0, AT_ONCE);
    for (let requests = 1; some.length > 0; requests += 1) {
      await this.answer(agent, some);
      // Before the first answer nobody knows what is left.
      if (requests === 1) allowed = Math.min(allowed, this.left.half() + 1);
      some = requests < allowed ? unknown().slice(0, AT_ONCE) : [];
    }
  }

  private async answer(agent: string, requests: readonly Question[]): Promise<void> {
    try {
      const body = { agent, open: true, ...this.forWhom, requests: [...requests] };
      const { results, policySet } = (await this.governance.post('/api/v1/policies/evaluate', {
        body,
      })) as Schemas['EvaluationsResponse'];
      if (policySet !== this.policySet) this.known.clear();
      this.policySet = policySet;
      requests.forEach((request, index) => this.known.set(keyOf(request), results[index]?.effect !== 'deny'));
    } catch (error) {
      const refused = refusedAmong(requests, error);
      if (refused.length === 0) throw error;
      // Calls of a tool whose name the service refuses would be refused, too. The others are asked about again.
      for (const request of refused) this.known.set(keyOf(request), false);
    }
  }

  /** Once for each change, to those who wonder where a tool is. */
  private report(hidden: number, notAsked: number): void {
    const text = [
      ...(hidden > notAsked ? [`${toolsOf(hidden - notAsked)} hidden: no policy allows them.`] : []),
      ...(notAsked > 0
        ? [
            `${toolsOf(notAsked)} not listed yet: to ask about them would take more than half of what the rate limit leaves. List them again in a minute.`,
          ]
        : []),
    ].join(' ');
    if (text !== this.reported && text !== '') printError(text);
    this.reported = text;
  }
}

function toolsOf(count: number): string {
  return count === 1 ? '1 tool' : `${count} tools`;
}

function keyOf(question: Question): string {
  return JSON.stringify(question);
}

/** The questions that an error names; none where it is about something else, such as an agent that does not exist. */
function refusedAmong(requests: readonly Question[], error: unknown): Question[] {
  if (!(error instanceof GovernanceError) || error.status !== 400) return [];
  return error.details.flatMap(({ field }) => {
    const [, index] = /^requests\[(\d+)\]\./.exec(field) ?? [];
    return index === undefined ? [] : (requests[Number(index)] ?? []);
  });
}
