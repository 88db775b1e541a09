import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';
import { counted, printError } from '../output.js';
import type { PrincipalOptions } from '../principal-options.js';
import { SettingsError } from '../settings.js';
import { hiddenText, UNNAMEABLE } from './hidden-text.js';
import type { ToolRequest } from './mapping.js';
import type { RateLimitLeft } from './rate-limit-left.js';
import type { Servers } from './servers/servers.js';

/** An item of a list, and the request that decides whether it is shown. */
export interface ListCandidate<Item> {
  readonly item: Item;
  /** The request to the policies; `shown` if only a call has the whole request, `hidden` if no request is possible. */
  readonly question: Question | 'shown' | 'hidden';
}

/** Options of {@link Visible}, which are a part of those of the proxy. */
export interface VisibleOptions {
  readonly left: RateLimitLeft;
  readonly forWhom: PrincipalOptions;
  readonly keySource: string;
}

type Question = Omit<ToolRequest, 'parameters'>;

/** Maximum number of checks in one request; fewer if the service refuses a list as too large. */
const MAX_CHECKS = 1_000;
/** Maximum number of requests for one list: policies that change with every answer would need more for ever. */
const MAX_REQUESTS = 100;
/** Maximum age of results in milliseconds: the agent may have changed, which no set of policies shows. */
const MAX_AGE_MS = 60_000;
/** Milliseconds between two checks for changed policies, while a session has listed something. */
const LOOK_PAUSE_MS = 30_000;

/**
 * Selects the items of lists that are allowed with some arguments. Each item is checked once for a set of policies,
 * with at most half of the requests that the rate limit leaves. The annotations of a tool do not count.
 */
export class Visible {
  /** Reasons why items are hidden, or null for visible ones: by request as JSON, for the latest set of policies. */
  private readonly reasons = new Map<string, string | null>();
  private policySet = '';
  private startTime = 0;
  private maxChecks = MAX_CHECKS;
  /** The sessions whose clients have listed something, and learn that policies have changed. */
  private readonly sessions = new Set<Servers>();
  private isLooking = false;
  /** The latest messages, by kind. */
  private readonly lastReports = new Map<string, string>();

  constructor(
    private readonly governance: GovernanceClient,
    private readonly options: VisibleOptions,
  ) {}

  /**
   * @param servers those of the session
   * @param kind such as `tool`
   * @throws GovernanceError or SettingsError if the service does not answer: then nothing is shown.
   */
  async select<Item>(
    servers: Servers,
    agent: string,
    kind: string,
    listed: readonly ListCandidate<Item>[],
  ): Promise<Item[]> {
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

  /** Returns the reason why an item is hidden; null if it is visible, and undefined if it has not been checked yet. */
  private reasonOf(question: ListCandidate<unknown>['question']): string | null | undefined {
    if (question === 'shown') return null;
    return question === 'hidden' ? UNNAMEABLE : this.reasons.get(keyOf(question));
  }

  private async ask(agent: string, questions: readonly Question[]): Promise<void> {
    if (performance.now() - this.startTime > MAX_AGE_MS) this.reasons.clear();
    if (this.reasons.size === 0) this.startTime = performance.now();
    const { left } = this.options;
    let maxRequests = Math.min(left.half(), MAX_REQUESTS);
    if (maxRequests < 1) return;
    const unknown = (): Question[] => questions.filter((question) => !this.reasons.has(keyOf(question)));
    // Repeating one check shows whether the policies are still the same.
    let some = unknown().length === 0 ? questions.slice(0, 1) : unknown().slice(0, this.maxChecks);
    for (let requests = 1; some.length > 0; requests += 1) {
      await this.answer(agent, some);
      // The remaining requests are unknown before the first response.
      if (requests === 1) maxRequests = Math.min(maxRequests, left.half() + 1);
      some = requests < maxRequests ? unknown().slice(0, this.maxChecks) : [];
    }
  }

  private async answer(agent: string, requests: readonly Question[]): Promise<void> {
    try {
      const body = { agent, open: true, ...this.options.forWhom, requests: [...requests] };
      const { results, policySet } = (await this.governance.post('/api/v1/policies/evaluate', {
        body,
      })) as Schemas['EvaluationsResponse'];
      const hasChanged = policySet !== this.policySet && this.policySet !== '';
      if (policySet !== this.policySet) this.reasons.clear();
      this.policySet = policySet;
      if (hasChanged) for (const session of this.sessions) session.listsChanged();
      for (const [index, request] of requests.entries()) {
        const { effect, reason } = results[index] ?? {};
        this.reasons.set(keyOf(request), effect === 'deny' ? (reason ?? '') : null);
      }
    } catch (error) {
      if (error instanceof GovernanceError && error.status === 401)
        throw new SettingsError(`${error.message} ${this.options.keySource}`);
      // Half of the list is sent next; a single check that is too large is refused below.
      if (isTooLarge(error) && requests.length > 1) {
        this.maxChecks = Math.ceil(requests.length / 2);
        return;
      }
      const refused = refusedAmong(requests, error);
      if (refused.length === 0) throw error;
      // Calls of a tool whose name the service refuses would be refused, too. The others are checked again.
      for (const request of refused) this.reasons.set(keyOf(request), UNNAMEABLE);
    }
  }

  /** Repeats one check from time to time: its response shows whether the policies are still the same. */
  private lookLater(agent: string, question: Question): void {
    this.isLooking = true;
    const look = async (): Promise<void> => {
      for (const session of this.sessions) if (session.isClosed) this.sessions.delete(session);
      this.isLooking = this.sessions.size > 0;
      if (!this.isLooking) return;
      // If the service does not answer, the check is repeated later.
      if (this.options.left.half() >= 1) await this.answer(agent, [question]).catch(() => undefined);
      this.lookLater(agent, question);
    };
    setTimeout(() => void look(), LOOK_PAUSE_MS).unref();
  }

  /** Prints what is hidden, once for each change. */
  private report(kind: string, hidden: readonly string[], uncheckedCount: number): void {
    const text = [
      ...(hidden.length > 0 ? [hiddenText(kind, hidden)] : []),
      ...(uncheckedCount > 0
        ? [
            `${counted(uncheckedCount, kind)} not listed yet: the check would take ${MAX_REQUESTS} requests, or more than half of what the rate limit leaves. List again in a minute.`,
          ]
        : []),
    ].join(' ');
    if (text !== (this.lastReports.get(kind) ?? '') && text !== '') printError(text);
    this.lastReports.set(kind, text);
  }
}

function keyOf(question: Question): string {
  return JSON.stringify(question);
}

/** True if the service refuses a list for its bytes, or for what the answers to all of it would take. */
function isTooLarge(error: unknown): boolean {
  if (!(error instanceof GovernanceError)) return false;
  return error.status === 413 || (error.status === 400 && error.details.some(({ field }) => field === 'requests'));
}

/**
 * Returns the requests that an error names; empty if it is about something else, for example an agent that does not
 * exist.
 */
function refusedAmong(requests: readonly Question[], error: unknown): readonly Question[] {
  if (isTooLarge(error) && requests.length === 1) return requests;
  if (!(error instanceof GovernanceError) || error.status !== 400) return [];
  return error.details.flatMap(({ field }) => {
    const [, index] = /^requests\[(\d+)\]\./.exec(field) ?? [];
    return index === undefined ? [] : (requests[Number(index)] ?? []);
  });
}
