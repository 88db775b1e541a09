import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { EntryTail } from '../../events/entry-tail';
import { SYSTEM_CALLER } from '../../../ledger/kinds/caller';
import { LedgerService } from '../../../ledger/ledger.service';
import { byId } from '../../../ledger/kinds/lookup';
import { CounterReader } from '../../../ledger/reading/counter-reader';
import { EntryReader } from '../../../ledger/reading/entry-reader';
import { RecordHistory } from '../../../ledger/record-history';
import { RecordReader } from '../../../ledger/reading/record-reader';
import { PeriodicTask } from '../../../core/lifecycle/periodic-task';
import { SingleFlight } from '../../../core/concurrency/single-flight';
import { steadyTime } from '../../../core/concurrency/steady-time';
import { WebhookBodies } from '../messages/webhook-bodies';
import { addressOf, WEBHOOK, type Webhook } from '../webhook.entity';
import { DeliveryLease, RENEWAL } from './delivery-lease';
import { type DeliveryMeans, type DeliveryOutcome, EndpointDelivery } from './endpoint-delivery';
import { type DeliveryPosition, DeliveryProgressStore, NO_FAILURES, writeWhile } from './delivery-position-store';
import { type Attempt, WebhookSender } from './webhook-sender';

/** Number of webhooks read at once. */
const CHUNK_SIZE = 100;

/**
 * Delivers audit entries to the endpoints of webhooks, each at its own pace. Of several processes, the one with the
 * lease does it. It reads from the ledger, so a crash loses nothing.
 */
@Injectable()
export class WebhookDispatcher implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Webhooks');
  private readonly deliveries = new Map<string, EndpointDelivery>();
  /** Webhooks whose deliveries have stopped since the positions were read, so that their progress is unknown. */
  private readonly stopped = new Set<string>();
  private readonly means: DeliveryMeans;
  private readonly outcomes: Record<DeliveryOutcome, number> = { delivered: 0, failed: 0 };
  private failing = 0;
  /** Term of the lease when the positions were last read. */
  private term = 0;
  private readonly polls = new SingleFlight<never, void>(() => this.poll());
  private readonly repeated = new PeriodicTask(
    RENEWAL,
    () => this.polls.call(),
    (error) => this.logger.warn(`Webhooks cannot be delivered now: ${String(error)}`),
  );

  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
    private readonly store: DeliveryProgressStore,
    private readonly lease: DeliveryLease,
    entries: EntryReader,
    counters: CounterReader,
    live: EntryTail,
    past: RecordHistory,
    sender: WebhookSender,
    bodies: WebhookBodies,
  ) {
    const holdsLease = (): boolean => lease.isHeldAt(steadyTime());
    const mayDeliver = (): boolean => !this.repeated.isStopping && holdsLease();
    // Positions that arrive during a write are part of the next one.
    const writes = new SingleFlight<DeliveryPosition, ReadonlySet<string>>(({ wishes }) =>
      writeWhile(mayDeliver, () => store.write([...wishes])),
    );
    this.means = {
      entries,
      counters,
      live,
      past,
      sender,
      bodies,
      now: () => ledger.clockTime.getTime(),
      refresh: (signal) => this.refresh(signal),
      mayDeliver: (term) => term === lease.term && mayDeliver(),
      mayRecord: (term) => term === lease.term && holdsLease(),
      write: async (progress) => (await writes.call({ wishes: [progress] })).has(progress.webhookId),
      count: (outcome) => (this.outcomes[outcome] += 1),
      fail: (progress, attempt) => this.fail(progress, attempt),
    };
  }

  onApplicationBootstrap(): void {
    this.pollSoon();
    this.repeated.begin();
  }

  async onModuleDestroy(): Promise<void> {
    await this.repeated.stop();
    await this.polls.ended();
    await this.stopAll();
    await this.lease
      .release()
      .catch((error: unknown) => this.logger.warn(`The lease was not released and will lapse: ${String(error)}`));
  }

  /** Attempts of this process, by outcome. */
  get attempts(): ReadonlyMap<string, number> {
    return new Map(Object.entries(this.outcomes));
  }

  /** Number of webhooks that were given up at the last read. */
  get failingWebhooks(): number {
    return this.failing;
  }

  /**
   * Number of entries that the endpoint furthest behind must still get or skip; 0 in a process that delivers nothing.
   */
  get lag(): number {
    const { sequence } = this.ledger.head;
    return Math.max(0, ...[...this.deliveries.values()].map(({ position }) => sequence - position));
  }

  /**
   * Polls soon; call it when a webhook was changed here. Changes by other processes are noticed within three seconds.
   */
  pollSoon(): void {
    if (this.repeated.isStopping) return;
    this.polls.call().catch((error: unknown) => this.logger.debug(`Webhooks will be checked later: ${String(error)}`));
  }

  /** Updates the deliveries. No delivery begins any more when the service stops. */
  private async refresh(signal: AbortSignal): Promise<void> {
    if (!this.repeated.isStopping) await this.polls.call({ signal });
  }

  private async poll(): Promise<void> {
    this.stopped.clear();
    // Read in this order, so that the webhook of every position is found, even if it was created in between.
    const positions = await this.store.all();
    const webhooks = await this.all();
    this.failing = webhooks.filter(({ status }) => status === 'failing').length;
    if (webhooks.length === 0 && positions.size === 0) return this.stopAll();
    const term = await this.lease.hold();
    if (term === null) return this.stopAll();
    const isSame = term === this.term;
    this.term = term;
    // Another process may have delivered since these positions were read. Under the same term, none has.
    if (!isSame) return this.poll();
    this.align(webhooks, positions);
    for (const id of positions.keys()) {
      if (!webhooks.some((webhook) => webhook.id === id)) await this.store.forget(id);
    }
  }

  private async all(): Promise<readonly Webhook[]> {
    const all: Webhook[] = [];
    for await (const chunk of this.records.chunks(WEBHOOK, [], CHUNK_SIZE)) all.push(...chunk);
    return all;
  }

  /** Starts missing deliveries, and stops those that must not continue as they are. */
  private align(webhooks: readonly Webhook[], positions: ReadonlyMap<string, DeliveryPosition>): void {
    const active = new Map(
      webhooks.filter(({ status }) => status === 'active').map((webhook) => [webhook.id, webhook]),
    );
    for (const [id, delivery] of this.deliveries) {
      const webhook = active.get(id);
      const isCurrent = delivery.isOf(this.term, positions.get(id)?.epoch ?? 0);
      if (delivery.isOver || webhook === undefined || !isCurrent || !delivery.follow(webhook)) this.stop(id, delivery);
    }
    for (const [id, webhook] of active) {
      if (!this.deliveries.has(id) && !this.stopped.has(id))
        this.begin(webhook, positions.get(id) ?? firstPosition(webhook));
    }
  }

  private begin(webhook: Webhook, progress: DeliveryPosition): void {
    const onFailure = (error: unknown): void =>
      this.logger.warn(`Deliveries to ${webhook.id} are held up: ${String(error)}`);
    const ours = { ...progress, term: this.term };
    this.deliveries.set(webhook.id, new EndpointDelivery(webhook, ours, this.means, onFailure));
  }

  /** Stops a delivery. A new one starts only when nothing of this one is in progress. */
  private stop(id: string, delivery: EndpointDelivery): void {
    void delivery.stop().then(() => {
      if (this.deliveries.get(id) !== delivery) return;
      this.deliveries.delete(id);
      this.stopped.add(id);
      this.pollSoon();
    });
  }

  private async stopAll(): Promise<void> {
    const all = [...this.deliveries.values()];
    await Promise.all(all.map((delivery) => delivery.stop()));
    this.deliveries.clear();
  }

  private fail({ webhookId: id, epoch, term }: DeliveryPosition, { status }: Attempt): Promise<void> {
    return this.ledger.withLookups(byId(WEBHOOK, id)).write(SYSTEM_CALLER, async (transaction) => {
      const webhook = await transaction.find(WEBHOOK, id);
      if (webhook?.status !== 'active') return;
      // Callers set the position in commands. The position of an earlier command is visible here; a later command sees
      // this write.
      const stored = await this.store.find(id);
      if (stored?.epoch !== epoch || stored.term !== term) return;
      // The response of another URL does not count for this one.
      if (stored.failingUrl !== addressOf(webhook)) return;
      const failing = { ...webhook, status: 'failing', updatedAt: transaction.now } as const;
      // Status of the last response.
      transaction.update(WEBHOOK, failing, { action: 'webhook.failing', details: { status }, bySystem: true });
    });
  }
}

/** Returns the position of a new webhook, which starts after its own creation. */
function firstPosition({ id, createdSequence }: Webhook): DeliveryPosition {
  const none = { ...NO_FAILURES, lastAttemptAt: null, lastStatus: null };
  return { webhookId: id, sequence: createdSequence, epoch: 0, replayHead: null, term: 0, ...none };
}
