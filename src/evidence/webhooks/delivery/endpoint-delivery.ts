import { setTimeout as sleep } from 'node:timers/promises';
import type { ParsedListedEntry } from '../../../ledger/reading/entry-reader';
import { withTimeout } from '../../../core/concurrency/with-timeout';
import { signingAt } from '../signing-secrets';
import type { WebhookBodies } from '../messages/webhook-bodies';
import { addressOf, type Webhook } from '../webhook.entity';
import { EndpointEntries, type EntrySources } from './endpoint-entries';
import { nextAttemptAt } from './retry-schedule';
import type { Attempt, WebhookSender } from './webhook-sender';
import { type DeliveryPosition, NO_FAILURES } from './delivery-position-store';

/** Number of entries without a match after which the endpoint's position on disk moves past them. */
const SKIPPED = 1_000;
/** Milliseconds that a delivery in progress may still take when deliveries stop. */
const GRACE = 3_000;

export type DeliveryOutcome = 'delivered' | 'failed';

/** The process's services for the deliveries of an endpoint. */
export interface DeliveryMeans extends EntrySources {
  readonly sender: WebhookSender;
  readonly bodies: WebhookBodies;
  /**
   * Milliseconds since 1970 by a clock that all processes share, because another one may continue from the stored
   * times.
   */
  readonly now: () => number;
  /** Writes its position; returns false if another process, or a caller, has set it since. */
  readonly write: (progress: DeliveryPosition) => Promise<boolean>;
  /** True if this process still delivers, and no other one has done so since the term began. */
  readonly mayDeliver: (term: number) => boolean;
  /**
   * True if `mayDeliver` is, and also while the process stops, so that the outcome of a delivery under way is recorded.
   */
  readonly mayRecord: (term: number) => boolean;
  /** Counts an attempt for the metrics. */
  readonly count: (outcome: DeliveryOutcome) => void;
  /** Gives the endpoint up, unless somebody has set its position since the progress was written. */
  readonly fail: (progress: DeliveryPosition, attempt: Attempt) => Promise<void>;
}

/** Delivers to one endpoint, one entry after another, until it is stopped. */
export class EndpointDelivery {
  private readonly over = new AbortController();
  private readonly connections;
  private readonly entries: EndpointEntries;
  /** Sequence of the entry that is being delivered; null between deliveries. */
  private current: number | null = null;
  private writing: Promise<boolean> = Promise.resolve(true);
  private readonly ended: Promise<void>;

  /** @param progress position as this process writes it: with its epoch, and the term of the current lease */
  constructor(
    private webhook: Webhook,
    private progress: DeliveryPosition,
    private readonly means: DeliveryMeans,
    onFailure: (error: unknown) => void,
  ) {
    const { sequence: after, replayHead } = progress;
    const firstFilterAt = replayHead ?? webhook.createdSequence;
    this.entries = new EndpointEntries(means, { webhookId: webhook.id, after, firstFilterAt }, this.over.signal);
    this.connections = means.sender.connections(addressOf(webhook));
    this.ended = this.runToEnd(onFailure);
  }

  get isOver(): boolean {
    return this.over.signal.aborted;
  }

  /** Sequence up to which all entries are delivered, or do not concern the endpoint. */
  get position(): number {
    return this.current === null ? this.entries.position : this.current - 1;
  }

  /** True if it delivers under this term, and knows the position that a caller has set. */
  isOf(term: number, epoch: number): boolean {
    return this.progress.term === term && this.progress.epoch === epoch;
  }

  /** Continues with the changed record; returns false if entries are now delivered elsewhere. */
  follow(webhook: Webhook): boolean {
    const isSame = addressOf(webhook) === addressOf(this.webhook);
    if (isSame) this.webhook = webhook;
    return isSame;
  }

  /** Resolves when nothing is in progress; a delivery under way gets a moment to finish. */
  async stop(): Promise<void> {
    this.over.abort();
    await withTimeout(this.ended, GRACE, undefined);
    this.connections.close();
    await this.ended;
  }

  /** The current time in ISO 8601. */
  private get time(): string {
    return new Date(this.means.now()).toISOString();
  }

  private async runToEnd(onFailure: (error: unknown) => void): Promise<void> {
    try {
      await this.run();
    } catch (error) {
      if (!this.isOver) onFailure(error);
    } finally {
      await this.end();
    }
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      const entry = await this.next();
      this.current = entry?.sequence ?? null;
      if (entry !== null && !(await this.deliver(entry))) return;
    }
  }

  /** Returns the next entry that concerns the endpoint; null if only the next call may find one. */
  private async next(): Promise<ParsedListedEntry | null> {
    const entry = this.entries.shift();
    if (entry !== undefined) return (await this.means.bodies.isForChannel(this.webhook, entry)) ? entry : null;
    const { position } = this.entries;
    if (position - this.progress.sequence <= SKIPPED) await this.entries.readOn();
    else if (!(await this.save({ ...NO_FAILURES, sequence: position }))) this.over.abort();
    return null;
  }

  /**
   * Retries until the delivery is confirmed; returns false if somebody else has taken over the endpoint, or it has
   * failed for good.
   */
  private async deliver(entry: ParsedListedEntry): Promise<boolean> {
    const { failingSequence, failingUrl } = this.progress;
    // The failures of another entry, or of another URL, do not count for this one.
    if (failingSequence !== entry.sequence || failingUrl !== addressOf(this.webhook)) {
      this.progress = { ...this.progress, ...NO_FAILURES };
    }
    while (!this.isOver) {
      await this.untilDue();
      const attempt = await this.attempt(entry);
      if (attempt === null) return false;
      const { status } = attempt;
      const at = this.time;
      const isConfirmed = status !== null && status >= 200 && status < 300;
      this.means.count(isConfirmed ? 'delivered' : 'failed');
      if (isConfirmed) return this.confirmed(entry.sequence, attempt, at);
      const { attempts: before, failingSince } = this.progress;
      const [attempts, since] = [before + 1, failingSince ?? at];
      const due = nextAttemptAt(
        { now: Date.parse(at), status, retryAfter: attempt.retryAfter, attempts, since: Date.parse(since) },
        Math.random(),
      );
      const isKept = await this.save({
        attempts,
        failingSince: since,
        failingSequence: entry.sequence,
        failingUrl: addressOf(this.webhook),
        lastAttemptAt: at,
        lastStatus: status,
        nextAttemptAt: due === null ? null : new Date(due).toISOString(),
      });
      if (!isKept) return false;
      if (due !== null) continue;
      await this.means.fail(this.progress, attempt);
      return false;
    }
    return false;
  }

  private async untilDue(): Promise<void> {
    const { nextAttemptAt: due } = this.progress;
    const delay = due === null ? 0 : Date.parse(due) - this.means.now();
    if (delay > 0) await sleep(delay, undefined, { signal: this.over.signal }).catch(() => undefined);
  }

  /** Makes an attempt; null if this process may no longer deliver, or record the outcome. */
  private async attempt(entry: ParsedListedEntry): Promise<Attempt | null> {
    const { sender, bodies, mayDeliver, mayRecord } = this.means;
    const { term } = this.progress;
    const mayStill = (): boolean => !this.isOver && mayDeliver(term);
    if (!mayStill()) return null;
    const body = await bodies.build(this.webhook, await this.entries.current(entry));
    const url = addressOf(this.webhook);
    const { secrets } = this.webhook;
    const signing = signingAt(secrets, this.time);
    const { connections } = this;
    const attempt = await sender.send({ url, secrets: signing, connections, id: entry.auditId, body, mayStill });
    const wasCut = attempt.status === null && this.isOver;
    return mayRecord(term) && !wasCut ? attempt : null;
  }

  /**
   * Writes the position after a confirmed delivery. The next delivery starts during the write, but the one after it
   * does not: after a crash at most two are repeated.
   */
  private async confirmed(sequence: number, { status }: Attempt, at: string): Promise<boolean> {
    const isKept = await this.writing;
    this.progress = { ...this.progress, ...NO_FAILURES, sequence, lastAttemptAt: at, lastStatus: status };
    this.writing = this.written();
    // An error is thrown when the write is awaited.
    this.writing.catch(() => undefined);
    return isKept;
  }

  private async save(change: Partial<DeliveryPosition>): Promise<boolean> {
    if (!(await this.writing)) return false;
    this.progress = { ...this.progress, ...change };
    this.writing = this.written();
    return this.writing;
  }

  private written(): Promise<boolean> {
    return this.means.write(this.progress);
  }

  private async end(): Promise<void> {
    this.over.abort();
    this.connections.close();
    await this.writing.catch(() => undefined);
  }
}
