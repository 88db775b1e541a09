import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';
import { counted, printError } from '../output.js';
import type { PrincipalOptions } from '../principal-options.js';
import { keySource, SettingsError } from '../settings.js';
import { hiddenText, UNNAMEABLE } from './hidden-text.js';
import type { ToolRequest } from './mapping.js';
import type { RateLimitLeft } from './rate-limit-left.js';
import type { Servers } from './servers/servers.js';

/** An item of a list, and what decides whether it is shown. */
export interface Listing<Item> {
  readonly item: Item;
  /** Whether it is allowed; `shown` where only a call says what is asked, `hidden` where nothing can be asked. */
  readonly question: Question | 'shown' | 'hidden';
}

type Question = Omit<ToolRequest, 'parameters'>;

/** How many requests one question takes. */
const AT_ONCE = 1_000;
/** Milliseconds after which answers are asked for anew: the agent may have changed, which no set of policies shows. */
const LONGEST_KEPT = 60_000;
/** Milliseconds between two looks for other policies, while a client is served that has listed something. */
const LOOK_PAUSE_MS = 30_000;

/**
 * What of lists some arguments could make allowed. Each item is asked about once for a set of policies, and never with more than
 * half of the requests that the rate limit leaves. The annotations of a tool do not count.
 */
export class Visible {
  /** Why it is hidden, or null for what is shown: by question as JSON, for the set of policies that answered last. */
  private readonly known = new Map<string, string | null>();
  private policySet = '';
  private since = 0;
  /** The sessions whose clients have listed something, and learn that policies have changed. */
  private readonly sessions = new Set<Servers>();
  private isLooking = false;
  /** What was said last, by kind. */
  private readonly reported = new Map<string, string>();

  constructor(
    private readonly governance: GovernanceClient,
    private readonly left: RateLimitLeft,
    private readonly forWhom: PrincipalOptions,
  ) {}

  /**
   * @param servers those of the session
   * @param kind such as `tool`
   * @throws GovernanceError or SettingsError if the service does not answer: then nothing is shown.
   */
  async among<Item>(servers: Servers, agent: string, kind: string, listed: readonly Listing<Item>[]): Promise<Item[]> {
    const questions = listed.flatMap(({ question }) => (typeof question === 'string' ? [] : [question]));
    await this.ask(agent, questions);
    this.sessions.add(servers);
    const [question] = questions;
    if (question !== undefined && !this.isLooking) this.lookLater(agent, question);
    const reasons = listed.map(({ question }) => this.reasonOf(question));
    const hidden = reasons.filter((reason) => typeof reason === 'string');
    this.report(kind, hidden, reasons.filter((reason) => reason === undefined).length);
    return listed.flatMap(({ item }, index) => (reasons[index] === null ? [item] : []));
  }

  /** Why it is hidden; null for what is shown, and undefined for what has not been asked yet. */
  private reasonOf(question: Listing<unknown>['question']): string | null | undefined {
    if (question === 'shown') return null;
    return question === 'hidden' ? UNNAMEABLE : this.known.get(keyOf(question));
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
      const hasChanged = policySet !== this.policySet && this.policySet !== '';
      if (policySet !== this.policySet) this.known.clear();
      this.policySet = policySet;
      if (hasChanged) for (const session of this.sessions) session.listsChanged();
      for (const [index, request] of requests.entries()) {
        const { effect, reason } = results[index] ?? {};
        this.known.set(keyOf(request), effect === 'deny' ? (reason ?? '') : null);
      }
    } catch (error) {
      if (error instanceof GovernanceError && error.status === 401)
        throw new SettingsError(`${error.message} ${keySource()}`);
      const refused = refusedAmong(requests, error);
      if (refused.length === 0) throw error;
      // Calls of a tool whose name the service refuses would be refused, too. The others are asked about again.
      for (const request of refused) this.known.set(keyOf(request), UNNAMEABLE);
    }
  }

  /** Asks one question from time to time: its answer shows whether the policies are still the same. */
  private lookLater(agent: string, question: Question): void {
    this.isLooking = true;
    const look = async (): Promise<void> => {
      for (const session of this.sessions) if (session.isClosed) this.sessions.delete(session);
      this.isLooking = this.sessions.size > 0;
      if (!this.isLooking) return;
      // A service that does not answer is asked again later.
      if (this.left.half() >= 1) await this.answer(agent, [question]).catch(() => undefined);
      this.lookLater(agent, question);
    };
    setTimeout(() => void look(), LOOK_PAUSE_MS).unref();
  }

  /** Once for each change, to those who wonder where something is. */
  private report(kind: string, hidden: readonly string[], notAsked: number): void {
    const text = [
      ...(hidden.length > 0 ? [hiddenText(kind, hidden)] : []),
      ...(notAsked > 0
        ? [
            `${counted(notAsked, kind)} not listed yet: to ask would take more than half of what the rate limit leaves. List again in a minute.`,
          ]
        : []),
    ].join(' ');
    if (text !== (this.reported.get(kind) ?? '') && text !== '') printError(text);
    this.reported.set(kind, text);
  }
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
