import { setTimeout as sleep } from 'node:timers/promises';
import { conditionsOfFilter, matchesFilter } from '../../events/event-filter';
import type { EventChunk } from '../../events/event-chunk';
import { type EntryFollower, type LiveEntries, pageAfter } from '../../events/live-entries';
import type { AnsweredListedEntry, EntryReader } from '../../ledger/reading/entry-reader';
import type { CounterReader } from '../../ledger/reading/counter-reader';
import { within } from '../../shared/within';
import { signingAt } from '../signing-secrets';
import type { Webhook } from '../webhook.entity';
import { filterOf } from '../webhook-filter';
import { bodyOf } from './delivery-body';
import { nextAttemptAt } from './retry-schedule';
import type { Attempt, WebhookSender } from './webhook-sender';
import { type DeliveryProgress, NO_FAILURES } from './delivery-progress.entity';

/** Most entries held in memory for one endpoint; further ones are read again later. */
const MOST_WAITING = 500;
/** After this many entries that do not concern the endpoint, its position is moved past them on disk. */
const SKIPPED = 1_000;
/** Milliseconds that a delivery in progress may still take when deliveries stop. */
const GRACE = 3_000;

/** What an endpoint's deliveries need from the process. */
export interface DeliveryMeans {
  readonly entries: EntryReader;
  readonly counters: CounterReader;
  readonly live: LiveEntries;
  readonly sender: WebhookSender;
  /** Writes its position; returns false if another process, or a caller, has set it since. */
  readonly write: (progress: DeliveryProgress) => Promise<boolean>;
  /** Whether this process still delivers, without another one having done so since the term began. */
  readonly mayDeliver: (term: number) => boolean;
  /** Gives the endpoint up, unless somebody has set its position since the progress was written. */
  readonly fail: (progress: DeliveryProgress, attempt: Attempt) => Promise<void>;
}

/** Delivers to one endpoint, one entry after another, until it is stopped. */
export class EndpointDelivery implements EntryFollower {
  private readonly over = new AbortController();
  private readonly connections;
  private readonly waiting: AnsweredListedEntry[] = [];
  /** All entries up to this sequence have been read. */
  private read: number;
  private isLive = false;
  private wake: (() => void) | null = null;
  private writing: Promise<boolean> = Promise.resolve(true);
  private readonly ended: Promise<void>;

  /** @param progress as this process is to write it: with its epoch, and the term of the present lease. */
  constructor(
    private webhook: Webhook,
    private progress: DeliveryProgress,
    private readonly means: DeliveryMeans,
    onFailure: (error: unknown) => void,
  ) {
    this.read = progress.sequence;
    this.connections = means.sender.connections();
    this.ended = this.run()
      .catch((error: unknown) => {
        if (!this.isOver) onFailure(error);
      })
      .finally(() => this.end());
  }

  get isOver(): boolean {
    return this.over.signal.aborted;
  }

  /** Whether it delivers under this term, and knows the position that a caller has set. */
  isOf(term: number, epoch: number): boolean {
    return this.progress.term === term && this.progress.epoch === epoch;
  }

  take(chunk: EventChunk): void {
    const { entries } = chunk;
    const found = entries.filter((entry) => entry.sequence > this.read && matchesFilter(filterOf(this.webhook), entry));
    if (this.waiting.length + found.length > MOST_WAITING) this.leaveLive();
    else {
      this.waiting.push(...found);
      this.read = Math.max(this.read, chunk.last);
    }
    this.wake?.();
  }

  abort(): void {
    this.leaveLive();
    this.wake?.();
  }

  /** Continues with the changed record; returns false if other entries are now delivered, or elsewhere. */
  follow(webhook: Webhook): boolean {
    const isSame = destinationOf(webhook) === destinationOf(this.webhook);
    if (isSame) this.webhook = webhook;
    return isSame;
  }

  /** Resolves when nothing is in progress; a delivery under way gets a moment to finish. */
  async stop(): Promise<void> {
    this.over.abort();
    this.wake?.();
    await within(this.ended, GRACE, undefined);
    this.connections.close();
    await this.ended;
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      const entry = await this.next();
      if (entry !== null && !(await this.deliver(entry))) return;
    }
  }

  /** The next entry that concerns the endpoint; null: ask again. */
  private async next(): Promise<AnsweredListedEntry | null> {
    const entry = this.waiting.shift();
    if (entry !== undefined) return entry;
    if (this.hasPassedFailure || this.read - this.progress.sequence > SKIPPED) {
      if (!(await this.save({ ...NO_FAILURES, sequence: this.read }))) this.over.abort();
      return null;
    }
    if (this.isLive) {
      await new Promise<void>((resolve) => (this.wake = resolve));
      this.wake = null;
      return null;
    }
    await this.readCommitted();
    if (this.waiting.length === 0 && !this.isOver) this.isLive = this.means.live.join(this, this.read);
    return null;
  }

  /** Whether what failed does not concern the endpoint any more. */
  private get hasPassedFailure(): boolean {
    const { failingSequence } = this.progress;
    return failingSequence !== null && failingSequence <= this.read;
  }

  /** Reads entries that were committed before. */
  private async readCommitted(): Promise<void> {
    const { entries, counters } = this.means;
    const filter = filterOf(this.webhook);
    const head = await counters.headSequence();
    const page = await entries.page(pageAfter(this.read, conditionsOfFilter(filter)));
    const last = page.rows.at(-1)?.sequence ?? 0;
    this.waiting.push(...page.rows.filter((entry) => matchesFilter(filter, entry)));
    this.read = Math.max(this.read, last, page.more ? 0 : head);
  }

  /**
   * Retries until the delivery is confirmed; returns false if somebody else has taken over the endpoint, or it has
   * failed for good.
   */
  private async deliver(entry: AnsweredListedEntry): Promise<boolean> {
    const body = bodyOf(entry);
    const { failingSequence, failingUrl } = this.progress;
    // The failures of another entry, or of another URL, say nothing about this one.
    if (failingSequence !== entry.sequence || failingUrl !== this.webhook.url) {
      this.progress = { ...this.progress, ...NO_FAILURES };
    }
    while (!this.isOver) {
      await this.untilDue();
      const attempt = await this.attempt(entry, body);
      if (attempt === null) return false;
      const { status } = attempt;
      const at = new Date().toISOString();
      if (status !== null && status >= 200 && status < 300) return this.confirmed(entry.sequence, attempt, at);
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
        failingUrl: this.webhook.url,
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
    const delay = due === null ? 0 : Date.parse(due) - Date.now();
    if (delay > 0) await sleep(delay, undefined, { signal: this.over.signal }).catch(() => undefined);
  }

  /** Null: this process may no longer deliver. */
  private async attempt(entry: AnsweredListedEntry, body: Buffer): Promise<Attempt | null> {
    const { sender, mayDeliver } = this.means;
    const { term } = this.progress;
    const mayStill = (): boolean => !this.isOver && mayDeliver(term);
    if (!mayStill()) return null;
    const { url, secrets } = this.webhook;
    const signing = signingAt(secrets, new Date().toISOString());
    const { connections } = this;
    const attempt = await sender.send({ url, secrets: signing, connections, id: entry.auditId, body, mayStill });
    const wasCut = attempt.status === null && this.isOver;
    return mayDeliver(term) && !wasCut ? attempt : null;
  }

  /**
   * The next delivery starts while the position after this one is being written, but the one after it does not: after a
   * crash at most two are repeated.
   */
  private async confirmed(sequence: number, { status }: Attempt, at: string): Promise<boolean> {
    const isKept = await this.writing;
    this.progress = { ...this.progress, ...NO_FAILURES, sequence, lastAttemptAt: at, lastStatus: status };
    this.writing = this.written();
    // An error is thrown where the write is awaited.
    this.writing.catch(() => undefined);
    return isKept;
  }

  private async save(change: Partial<DeliveryProgress>): Promise<boolean> {
    if (!(await this.writing)) return false;
    this.progress = { ...this.progress, ...change };
    this.writing = this.written();
    return this.writing;
  }

  private written(): Promise<boolean> {
    return this.means.write(this.progress);
  }

  private leaveLive(): void {
    if (this.isLive) this.means.live.leave(this);
    this.isLive = false;
  }

  private async end(): Promise<void> {
    this.over.abort();
    this.leaveLive();
    this.connections.close();
    await this.writing.catch(() => undefined);
  }
}

function destinationOf(webhook: Webhook): string {
  return JSON.stringify([webhook.url, filterOf(webhook)]);
}
