import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { GovernanceError } from '../../../../typescript/src/index.js';
import { pathSegment } from '../../../../typescript/src/path-segment.js';
import { Transport } from '../../../../typescript/src/transport.js';
import { serviceFetch } from '../../service-fetch.js';
import type { GatewayLog } from '../run/log.js';
import type { Journal, Report } from './journal.js';

/** Maximum number of reports that are sent at the same time. */
const MAX_PARALLEL = 16;
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;
/** HTTP statuses of a permanent refusal of a report. */
const FINAL_STATUSES: ReadonlySet<number> = new Set([400, 404, 409, 410, 413]);
/** HTTP status of the service's answer for an execution whose outcome it already has. */
const OUTCOME_EXISTS = 409;

export interface ReportsOptions {
  readonly url: string;
  /** The gateway's own key, with the scope `report`. */
  readonly key: string;
  readonly journal: Journal;
  readonly log: GatewayLog;
}

interface WaitingReport {
  readonly executionId: string;
  readonly report: Report;
  /** True if an earlier process may have sent it. */
  readonly mayBeTaken: boolean;
}

export const JOURNAL_FAILED = 'The journal of the gateway cannot be written, so nothing was sent.';

/**
 * Sends the outcomes of executions, and repeats each report until the service accepts it or refuses it permanently. Open
 * entries of the journal are kept when the process ends.
 */
export class Reports {
  private readonly waiting: WaitingReport[] = [];
  private readonly ending = new AbortController();
  private readonly transport: Transport;
  private running = 0;
  private failures = 0;

  constructor(private readonly options: ReportsOptions) {
    const { url, key } = options;
    // Each report listens while it is sent: Node.js warns of more than ten.
    setMaxListeners(0, this.ending.signal);
    this.transport = new Transport({ url, key, patience: 0, timeout: 15_000, fetch: serviceFetch });
  }

  /** Number of reports that the service has neither accepted nor permanently refused. */
  get count(): number {
    return this.waiting.length + this.running;
  }

  /** Reports the executions that an earlier process left open, as `outcome_unknown` if the journal has no report. */
  resume(): void {
    for (const { executionId, report } of this.options.journal.openEntries()) {
      const unknown: Report = {
        outcome: 'failed',
        reason: 'outcome_unknown',
        failureReason: 'The gateway ended after it began to send the request; what came of it is not known.',
      };
      this.add(executionId, report ?? unknown, true);
    }
  }

  /**
   * Writes an execution to the journal before its request is sent. Returns false, and adds a report, if the journal
   * cannot be written; then the request must not be sent.
   */
  async begin(executionId: string, upstream: string): Promise<boolean> {
    try {
      await this.options.journal.begin({ executionId, upstream, at: new Date().toISOString() });
      return true;
    } catch {
      this.add(executionId, {
        outcome: 'failed',
        reason: 'not_sent',
        failureReason: 'The journal of the gateway could not be written.',
      });
      return false;
    }
  }

  /** @param mayBeTaken true if an earlier process may have reported the execution */
  add(executionId: string, report: Report, mayBeTaken = false): void {
    const { journal, log } = this.options;
    void journal
      .note(executionId, report)
      .catch((error: unknown) => log.warn('The journal cannot keep a report', error, executionId));
    this.waiting.push({ executionId, report, mayBeTaken });
    this.start();
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

  private start(): void {
    while (this.running < MAX_PARALLEL) {
      const next = this.waiting.shift();
      if (next === undefined) return;
      this.running += 1;
      void this.send(next).finally(() => {
        this.running -= 1;
        this.start();
      });
    }
  }

  private async send(item: WaitingReport): Promise<void> {
    const { journal, log } = this.options;
    const { executionId, report } = item;
    const { signal } = this.ending;
    let { mayBeTaken } = item;
    while (!this.isClosed()) {
      try {
        await this.post(executionId, report);
        this.failures = 0;
        break;
      } catch (error) {
        if (this.isClosed()) return;
        const status = serviceStatus(error);
        // The service took the report, but its answer was lost.
        if (status === OUTCOME_EXISTS && mayBeTaken) break;
        mayBeTaken ||= error instanceof GovernanceError && error.isOutcomeUnknown;
        if (status !== null && FINAL_STATUSES.has(status)) {
          log.warn('The service refused a report for good', error, executionId);
          break;
        }
        if (this.failures === 0) log.warn('Reports wait: the service does not take them now', error, executionId);
        this.failures += 1;
        const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.failures, 10), MAX_PAUSE_MS);
        await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
    if (this.isClosed()) return;
    await journal
      .end(executionId)
      .catch((error: unknown) => log.warn('The journal cannot drop a report that was taken', error, executionId));
  }

  private isClosed(): boolean {
    return this.ending.signal.aborted;
  }

  private post(executionId: string, report: Report): Promise<unknown> {
    return this.transport.json({
      method: 'post',
      path: `/api/v1/executions/${pathSegment('id', executionId)}/result`,
      body: report,
      isWithoutKey: true,
      signal: this.ending.signal,
    });
  }
}

/** The status of a refusal by the service itself; null for other faults, and for the answer of a proxy in between. */
function serviceStatus(error: unknown): number | null {
  return error instanceof GovernanceError && error.code !== 'UNEXPECTED_ANSWER' ? error.status : null;
}
