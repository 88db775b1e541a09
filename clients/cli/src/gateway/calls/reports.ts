import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { GovernanceError, unexpectedAnswer } from '../../../../typescript/src/governance-error.js';
import type { Execution, Schemas } from '../../../../typescript/src/index.js';
import { pathSegment } from '../../../../typescript/src/path-segment.js';
import { Transport } from '../../../../typescript/src/transport.js';
import { executionIn } from '../../../../typescript/src/wait-for-execution.js';
import { serviceFetch } from '../../service-fetch.js';
import { withTimeLimit } from '../../time-limit.js';
import type { GatewayLog } from '../run/log.js';
import type { Journal, Report } from './journal.js';
import { KEY_REFUSED, type OwnKey } from './own-key.js';
import { Refusal, unavailable } from './refusal.js';
import { SentExecutions } from './sent-executions.js';

/** Maximum number of reports in one request. */
const MAX_TOGETHER = 100;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;
/** Milliseconds for which a request waits for the service to take the unknown outcomes of its agent. */
const MAX_WAIT_MS = 5_000;
/** Milliseconds for which the answer to a request waits until the service has taken its unknown outcome. */
const MAX_ANSWER_WAIT_MS = 1_000;
/** The reason of a report after which the service refuses the same action. */
const OUTCOME_UNKNOWN = 'outcome_unknown';
/** HTTP statuses of a permanent refusal of a report. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 404, 409, 410, 413]);
/** Code of the service's refusal for an execution whose outcome it already has. */
const OUTCOME_EXISTS = 'CONFLICT';
/** Error code of a request at which the service fails, although it may accept other requests. */
const SERVICE_FAULT = 'INTERNAL_ERROR';
/** Error code of an answer that something in front of the service gave. */
const STRANGE_ANSWER = 'UNEXPECTED_ANSWER';

export interface ReportsOptions {
  readonly url: string;
  /** The gateway's own key, with the scope `report`. */
  readonly key: string;
  readonly ownKey: Readonly<OwnKey>;
  readonly journal: Journal;
  readonly log: GatewayLog;
}

interface WaitingReport {
  readonly executionId: string;
  readonly report: Report;
  /** True if the report was sent before, by this or an earlier process, and no answer came. */
  readonly mayBeTaken: boolean;
  /** True if the service refused a list with this report: the report is then sent alone. */
  readonly isAlone: boolean;
}

/** The service's answer for one of several reports. */
type ReportAnswer = Schemas['ReportedResultResponse'];

/** Name of the event after each request to the service. */
const SENT = 'sent';

const JOURNAL_FAILED = 'The journal of the gateway cannot be written, so nothing was sent.';
const NOT_TAKEN =
  'The outcome of an earlier request of the agent is unknown, and the governance service has not accepted the report about that yet, so nothing was sent.';

/**
 * Sends the outcomes of executions, and repeats each report until the service accepts it or refuses it permanently. One
 * request runs at a time; what waits meanwhile goes together in the next one. Open entries of the journal are kept when
 * the process ends.
 */
export class Reports {
  private readonly waiting: WaitingReport[] = [];
  private sending: readonly WaitingReport[] = [];
  private readonly ending = new AbortController();
  /** Fires when answers no longer wait for the service. */
  private readonly hurrying = new AbortController();
  private readonly transport: Transport;
  private isRunning = false;
  private failures = 0;
  /** The agents of the unknown outcomes that the service has not taken, by execution. */
  private readonly unknown = new Map<string, string | undefined>();
  private readonly sent: SentExecutions;
  private readonly events = new EventEmitter().setMaxListeners(0);

  constructor(private readonly options: ReportsOptions) {
    const { url, key, journal } = options;
    this.sent = new SentExecutions(journal.openEntries().map(({ executionId }) => executionId));
    for (const { executionId, agentId, report } of journal.openEntries())
      if (report === null || isOfUnknownOutcome(report)) this.unknown.set(executionId, agentId);
    this.transport = new Transport({ url, key, patience: 0, timeout: 15_000, fetch: serviceFetch });
  }

  /** Number of reports that the service has neither accepted nor permanently refused. */
  get count(): number {
    return this.waiting.length + this.sending.length;
  }

  /** Reports the executions that an earlier process left open, as `outcome_unknown` if the journal has no report. */
  resume(): void {
    for (const { executionId, report } of this.options.journal.openEntries()) {
      const unknown: Report = {
        outcome: 'failed',
        reason: OUTCOME_UNKNOWN,
        failureReason: 'The gateway ended after it began to send the request; what came of it is not known.',
      };
      this.add(executionId, report ?? unknown, true);
    }
  }

  /**
   * Writes an execution to the journal before its request is sent. Returns why the request must not be sent, or null if
   * it may be. The refusal is reported, except where the execution was sent before: its report is that of the first.
   */
  async begin({ id: executionId, agentId }: Execution, upstream: string): Promise<Refusal | null> {
    const { journal, ownKey } = this.options;
    if (!this.sent.add(executionId)) return new Refusal(422, 'already_sent', sentBefore(executionId), { executionId });
    try {
      await journal.begin({ executionId, upstream, agentId, at: new Date().toISOString() });
    } catch {
      this.addNotSent(executionId, 'The journal of the gateway could not be written.');
      return unavailable(JOURNAL_FAILED);
    }
    if (!ownKey.isRefused) return null;
    // The execution may have waited for its approval since the service refused the key.
    this.addNotSent(executionId, "The service refused the gateway's own key.");
    return unavailable(KEY_REFUSED);
  }

  /**
   * Resolves once the service has accepted the reports of all unknown outcomes of an agent: until then the service
   * would authorise the same action again.
   * @throws Refusal 503 if the service does not accept the reports in time; the reason of `signal`
   */
  async requireTaken(agentId: string, signal?: AbortSignal): Promise<void> {
    if (!this.hasUnknown(agentId)) return;
    const end = signal === undefined ? AbortSignal.timeout(MAX_WAIT_MS) : withTimeLimit(signal, MAX_WAIT_MS);
    while (this.hasUnknown(agentId) && !end.aborted)
      await once(this.events, SENT, { signal: end }).catch(() => undefined);
    signal?.throwIfAborted();
    if (this.hasUnknown(agentId)) throw unavailable(NOT_TAKEN);
  }

  /**
   * Resolves once the service has accepted the reports of all unknown outcomes of an agent, but after a second at the
   * latest. A client that learns of an unknown outcome earlier may repeat its request at another gateway, and the
   * service would authorise it.
   */
  async untilTaken(agentId: string): Promise<void> {
    const signal = withTimeLimit(this.hurrying.signal, MAX_ANSWER_WAIT_MS);
    await this.requireTaken(agentId, signal).catch(() => undefined);
  }

  /** Ends all waits of `untilTaken`, so that the answers to clients go out. */
  hurry(): void {
    this.hurrying.abort();
  }

  private hasUnknown(agentId: string): boolean {
    return [...this.unknown.values()].includes(agentId);
  }

  private addNotSent(executionId: string, failureReason: string): void {
    this.add(executionId, { outcome: 'failed', reason: 'not_sent', failureReason });
  }

  /** @param mayBeTaken true if an earlier process may have reported the execution */
  add(executionId: string, report: Report, mayBeTaken = false): void {
    const { journal, log } = this.options;
    if (isOfUnknownOutcome(report)) this.unknown.set(executionId, journal.openEntry(executionId)?.agentId);
    void journal
      .note(executionId, report)
      .catch((error: unknown) => log.warn('The journal cannot keep a report', error, executionId));
    this.waiting.push({ executionId, report, mayBeTaken, isAlone: false });
    if (!this.isRunning) void this.run();
  }

  /**
   * Waits until no report is open, for at most `timeoutMs` milliseconds, and stops sending. Open reports stay in the
   * journal.
   */
  async close(timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    while (this.count > 0 && performance.now() < end) await sleep(10);
    this.ending.abort();
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    // Reports that are added in the same turn of the event loop go together.
    await Promise.resolve();
    while (!this.isClosed() && this.waiting.length > 0) {
      this.sending = this.nextReports();
      await this.send(this.sending);
      this.sending = [];
      this.events.emit(SENT);
    }
    this.isRunning = false;
  }

  /** Removes what is sent next from the queue. */
  private nextReports(): readonly WaitingReport[] {
    const alone = this.waiting.findIndex(({ isAlone }) => isAlone);
    return this.waiting.splice(0, alone === -1 ? MAX_TOGETHER : Math.min(Math.max(alone, 1), MAX_TOGETHER));
  }

  private async send(reports: readonly WaitingReport[]): Promise<void> {
    const { log } = this.options;
    try {
      const refusals = await this.post(reports);
      this.failures = 0;
      await Promise.all(reports.map((report, place) => this.settle(report, refusals[place] ?? null)));
    } catch (error) {
      if (this.isClosed()) return;
      const [first] = reports;
      if (isFinal(error) && first !== undefined) {
        // One report of the list may be refused, or the service may be too old for lists of reports.
        if (reports.length === 1) await this.settle(first, error);
        else this.putBack(reports.map((report) => ({ ...report, isAlone: true })));
        return;
      }
      const isKnown = error instanceof GovernanceError;
      // The service may have taken some reports of the list.
      const mayBeTaken = reports.length > 1 || (isKnown && (error.isOutcomeUnknown || error.code === STRANGE_ANSWER));
      const isAlone = isKnown && error.code === SERVICE_FAULT;
      this.putBack(
        reports.map((report) => ({
          ...report,
          mayBeTaken: report.mayBeTaken || mayBeTaken,
          isAlone: report.isAlone || isAlone,
        })),
      );
      if (this.failures === 0) log.warn('Reports wait: the service does not take them now', error, first?.executionId);
      this.failures += 1;
      await this.pause(Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.failures, 10), MAX_PAUSE_MS));
    }
  }

  /** Waits for the time; ends early if requests wait for the reports. */
  private async pause(milliseconds: number): Promise<void> {
    const { signal } = this.ending;
    const end = performance.now() + milliseconds;
    do await sleep(FIRST_PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
    while (performance.now() < end && !signal.aborted && this.events.listenerCount(SENT) === 0);
  }

  /** Moves reports to the end of the queue, so that one which the service can never answer delays no others. */
  private putBack(reports: readonly WaitingReport[]): void {
    this.sending = [];
    this.waiting.push(...reports);
  }

  /**
   * Removes a report from the journal.
   * @param refusal permanent refusal by the service; null if the service accepted the report
   */
  private async settle({ executionId, mayBeTaken }: WaitingReport, refusal: GovernanceError | null): Promise<void> {
    const { journal, log } = this.options;
    // The service took the report, but its answer was lost.
    const isTaken = refusal === null || (mayBeTaken && refusal.code === OUTCOME_EXISTS);
    if (!isTaken) log.warn('The service refused a report for good', refusal, executionId);
    this.unknown.delete(executionId);
    await journal
      .end(executionId)
      .catch((error: unknown) => log.warn('The journal cannot drop a report that was taken', error, executionId));
  }

  private isClosed(): boolean {
    return this.ending.signal.aborted;
  }

  /** @returns in the order of the reports, why each was refused for good; null where it was taken */
  private async post(reports: readonly WaitingReport[]): Promise<readonly (GovernanceError | null)[]> {
    const [first] = reports;
    const options = { method: 'post', isWithoutKey: true, signal: this.ending.signal } as const;
    if (reports.length === 1 && first !== undefined) {
      const { executionId, report } = first;
      const path = `/api/v1/executions/${pathSegment('id', executionId)}/result`;
      const answer = await this.transport.json({ ...options, path, body: report });
      if (executionIn(answer).id === executionId) return [null];
      throw unexpectedAnswer('it is not the execution that was reported.', null);
    }
    const results = reports.map(({ executionId, report }) => ({ id: executionId, ...report }));
    const answer = await this.transport.json({ ...options, path: '/api/v1/executions/results', body: { results } });
    const ids = reports.map(({ executionId }) => executionId);
    return answersIn(answer, ids).map(
      ({ error }) => error && new GovernanceError(error.message, { ...error, status: null }),
    );
  }
}

function sentBefore(executionId: string): string {
  return (
    `The gateway has sent the execution ${executionId} before, though the governance service has authorised it again, ` +
    'as a restored database may. It is not sent again. Find out what came of it; another request needs another approval.'
  );
}

function isOfUnknownOutcome(report: Report): boolean {
  return report.outcome === 'failed' && report.reason === OUTCOME_UNKNOWN;
}

/**
 * True for a permanent refusal by the service itself: not for other faults, nor for the answer of a proxy in between.
 */
function isFinal(error: unknown): error is GovernanceError {
  if (!(error instanceof GovernanceError) || error.code === STRANGE_ANSWER) return false;
  return error.status !== null && FINAL_STATUSES.has(error.status);
}

/** @throws GovernanceError for what is no answer to reports of these executions */
function answersIn(answer: unknown, ids: readonly string[]): readonly ReportAnswer[] {
  const { data } = Object(answer) as { readonly data?: unknown };
  const answers = Array.isArray(data) ? (data as unknown[]) : [];
  if (answers.length === ids.length && ids.every((id, place) => isAnswerTo(id, answers[place])))
    return answers as ReportAnswer[];
  throw unexpectedAnswer('it does not say which reports were taken.', null);
}

function isAnswerTo(executionId: string, answer: unknown): boolean {
  const { id, error } = Object(answer) as Partial<ReportAnswer>;
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return id === executionId && (error === null || (typeof code === 'string' && typeof message === 'string'));
}
