import type {
  AnswerOf,
  AuditEntry,
  Execution,
  ItemOf,
  Method,
  Operation,
  PagedPath,
  PathOf,
  RequestOf,
} from './api-types.js';
import { type ChangeDecision, ChangePending, type ChangeWaits, pendingChange } from './change.js';
import { decided } from './wait-for-execution.js';
import { eventsFrom, type EventsRequest } from './events.js';
import {
  requestAuthorization,
  carriedOut,
  type GuardOptions,
  type GuardRequest,
  type Run,
  type RunOptions,
} from './guard.js';
import type { Outcome } from './guard-errors.js';
import { pathSegment } from './path-segment.js';
import { askPeople, type Question, type QuestionAnswer, type QuestionOptions } from './question.js';
import { plainJson } from './plain-json.js';
import { reportOutcome } from './report.js';
import { Transport, type SentRequest, type TransportOptions } from './transport.js';

/** The parts of any request. The type of each call says which of them it takes. */
interface AnyRequest extends Pick<SentRequest, 'body' | 'headers' | 'signal'> {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Query;
  readonly change?: string;
}

type Scalar = string | number | boolean;
type Query = Readonly<Record<string, Scalar | readonly Scalar[] | undefined>>;

export interface ClientOptions extends TransportOptions {
  /** Without it, a change that needs a second person throws `ChangePending`. */
  readonly changes?: ChangeWaits;
}

/** The arguments after the path; optional if no part is required. */
type Rest<Request> = object extends Request ? [request?: Request] : [request: Request];

/**
 * The governance service. Every path of its API document is callable by its method, with the types of that document;
 * `guard` is the one line around what an agent does.
 */
export class GovernanceClient {
  private readonly transport: Transport;
  private readonly changes: ChangeWaits | null;
  private agentId: Promise<string> | null = null;

  constructor({ changes, ...options }: ClientOptions) {
    this.transport = new Transport(options);
    this.changes = changes ?? null;
  }

  get<P extends PathOf<'get'>>(
    path: P,
    ...[request]: Rest<RequestOf<Operation<'get', P>>>
  ): Promise<AnswerOf<Operation<'get', P>>> {
    return this.call('get', path, request) as Promise<AnswerOf<Operation<'get', P>>>;
  }

  post<P extends PathOf<'post'>>(
    path: P,
    ...[request]: Rest<RequestOf<Operation<'post', P>>>
  ): Promise<AnswerOf<Operation<'post', P>>> {
    return this.call('post', path, request) as Promise<AnswerOf<Operation<'post', P>>>;
  }

  put<P extends PathOf<'put'>>(
    path: P,
    ...[request]: Rest<RequestOf<Operation<'put', P>>>
  ): Promise<AnswerOf<Operation<'put', P>>> {
    return this.call('put', path, request) as Promise<AnswerOf<Operation<'put', P>>>;
  }

  patch<P extends PathOf<'patch'>>(
    path: P,
    ...[request]: Rest<RequestOf<Operation<'patch', P>>>
  ): Promise<AnswerOf<Operation<'patch', P>>> {
    return this.call('patch', path, request) as Promise<AnswerOf<Operation<'patch', P>>>;
  }

  delete<P extends PathOf<'delete'>>(
    path: P,
    ...[request]: Rest<RequestOf<Operation<'delete', P>>>
  ): Promise<AnswerOf<Operation<'delete', P>>> {
    return this.call('delete', path, request) as Promise<AnswerOf<Operation<'delete', P>>>;
  }

  /** All records of a list, page by page as they are needed. */
  async *pages<P extends PagedPath>(
    path: P,
    ...[request]: Rest<RequestOf<Operation<'get', P>>>
  ): AsyncGenerator<ItemOf<P>, void, undefined> {
    let next: AnyRequest | undefined = request;
    for (;;) {
      const page = (await this.call('get', path, next)) as { data: ItemOf<P>[]; nextCursor?: string | null };
      yield* page.data;
      if (page.nextCursor === undefined || page.nextCursor === null) return;
      const limit = next?.query?.['limit'];
      next = { ...next, query: { cursor: page.nextCursor, ...(limit === undefined ? {} : { limit }) } };
    }
  }

  /**
   * The entries of the audit trail as they are written, each once and in order; a lost connection is resumed where it
   * broke.
   */
  events(request: EventsRequest = {}): AsyncGenerator<AuditEntry, void, undefined> {
    return eventsFrom(this.transport, request);
  }

  /**
   * Requests the action, waits for approval if the action needs one, calls `run`, and reports the outcome. `run` is
   * called at most once, and only when the action is authorised, with the execution: its `parameters` are those that
   * were requested and approved, even if the caller has changed the request meanwhile. If a handler of the service, or
   * an equal call that waited for the same approval, carried it out, the recorded result is returned.
   * @throws GovernanceError if the action is denied or its approval is pending, rejected, expired or cancelled; errors
   *   of `run`.
   */
  async guard<Result>(request: GuardRequest, run: Run<Result>, options: GuardOptions = {}): Promise<Result> {
    const { signal, results } = options;
    return this.carryOut(await this.authorize(request, options), run, { signal, results });
  }

  /**
   * The first half of `guard`: requests the action, waits for approval and uses it. Only the outcome `authorized` means
   * that the action may run; `executed` means that a handler of the service has carried it out.
   * @throws the errors of `guard` that occur before the action runs
   */
  async authorize(request: GuardRequest, options: GuardOptions = {}): Promise<Execution> {
    return requestAuthorization(this.transport, await this.withAgent(request), options);
  }

  /**
   * The second half of `guard`: runs the authorised action, and reports the outcome. An execution is carried out once,
   * unless it paused: a second call does not run it.
   * @throws the errors of `guard` that occur from then on; TypeError for the second call
   */
  carryOut<Result>(execution: Execution, run: Run<Result>, options: RunOptions = {}): Promise<Result> {
    return carriedOut(this.transport, execution, run, options);
  }

  /** Waits for the decision on a pending execution, at most `wait` seconds, and returns the execution as it then is. */
  waitForDecision(execution: Execution, { wait = 0, signal }: GuardOptions = {}): Promise<Execution> {
    return decided(this.transport, execution, wait, signal);
  }

  /**
   * Reports the outcome of an authorised action that ran elsewhere.
   * @throws ResultNotReportedError if the service does not accept it.
   */
  report(execution: Execution, outcome: Outcome): Promise<void> {
    return reportOutcome(this.transport, execution, outcome);
  }

  /**
   * Asks people a question, and waits for their answer. An answer authorises nothing. The same question of the same
   * agent and run is one decision while that is open, and for an hour after; at most 20 questions of an agent are open.
   * @throws GovernanceError, CONFLICT for one question too many; RangeError for one that is too long; the reason of
   *   `signal`
   */
  async ask(question: Question, options: QuestionOptions = {}): Promise<QuestionAnswer> {
    const agent = options.agent ?? (await this.ownAgent());
    return askPeople((request) => this.transport.json(request), agent, question, options);
  }

  private async withAgent(request: GuardRequest): Promise<GuardRequest & { readonly agent: string }> {
    // The request is copied, since the caller may change it while the agent is looked up.
    const copy = JSON.parse(plainJson(request)) as GuardRequest;
    return { ...copy, agent: copy.agent ?? (await this.ownAgent()) };
  }

  /** Finds the agent that the key is bound to. */
  private ownAgent(): Promise<string> {
    this.agentId ??= this.findOwnAgent().catch((error: unknown) => {
      this.agentId = null;
      throw error;
    });
    return this.agentId;
  }

  private async findOwnAgent(): Promise<string> {
    const { agentId } = (await this.transport.json({ method: 'get', path: '/api/v1/me' })) as {
      agentId: string | null;
    };
    if (agentId === null) throw new TypeError('The key is bound to no agent: say which agent acts (agent).');
    return agentId;
  }

  private async call(method: Method, template: string, request: AnyRequest = {}): Promise<unknown> {
    const { path, query, body, signal, change: changeId } = request;
    const headers = changeId === undefined ? request.headers : { ...request.headers, Change: changeId };
    const sent = {
      method,
      path: `${fillPath(template, path ?? {})}${queryText(query ?? {})}`,
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
      signal,
      hold: 1_000 * Number(query?.['wait'] ?? 0),
    };
    const answer = await this.transport.json(sent);
    const change = pendingChange(method, template, answer);
    return change === null ? answer : this.makeChange(template, sent, change);
  }

  /**
   * Sends the request again once somebody has approved the change.
   * @throws ChangePending if the options have no `changes` to wait for the approval
   */
  private async makeChange(template: string, sent: SentRequest, change: ChangeDecision): Promise<unknown> {
    if (this.changes === null) throw new ChangePending(change);
    await this.changes.approval(change);
    const answer = await this.transport.json({ ...sent, headers: { ...sent.headers, Change: change.id } });
    const pending = pendingChange(sent.method, template, answer);
    if (pending !== null) throw new ChangePending(pending);
    this.changes.made?.(change);
    return answer;
  }
}

function fillPath(template: string, values: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => pathSegment(name, values[name]));
}

function queryText(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) {
      if (item !== undefined) search.append(name, String(item));
    }
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
