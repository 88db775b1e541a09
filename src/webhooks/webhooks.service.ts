import { Injectable } from '@nestjs/common';
import { referencedAgent } from '../agents/agent-reference';
import { agentLookup } from '../agents/find-agent';
import { Configuration } from '../config/configuration';
import { invalidField, notFound, unavailable } from '../errors/domain-error';
import { AnswersOnce } from '../ledger/answers-once';
import { type Caller, withoutKey } from '../ledger/caller';
import { LedgerService } from '../ledger/ledger.service';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { byId } from '../ledger/lookup';
import { CounterReader } from '../ledger/reading/counter-reader';
import { RecordReader } from '../ledger/reading/record-reader';
import type { Page, PageRequest } from '../ledger/record-page';
import { DeliveryProgressStore } from './delivery/delivery-progress-store';
import { WebhookDispatcher } from './delivery/webhook-dispatcher';
import { type Attempt, WebhookSender } from './delivery/webhook-sender';
import type { DeliveryProgress } from './delivery/delivery-progress.entity';
import { hashOfSecret, newSecret, rotated, signingAt } from './signing-secrets';
import { type ChangedMember, createdNote, deletedNote, updatedNote } from './webhook-notes';
import { webhookUrlFault } from './webhook-url';
import { type ShownWebhook, shownWebhook } from './shown-webhook';
import { requireRoom } from './webhook-capacity';
import type { Webhook } from './webhook.entity';
import { WEBHOOK } from './webhook.kind';

/** Most concurrent test deliveries. */
const MOST_TESTS = 10;

/** The members of a new webhook. */
export interface NewWebhook {
  readonly url: string;
  readonly actions: readonly string[];
  /** Id or name. */
  readonly agentId?: string | undefined;
  readonly description?: string | undefined;
}

/** A webhook and its newest secret, which is only shown this once. */
export interface WebhookWithSecret {
  readonly webhook: ShownWebhook;
  readonly secret: string;
}

/** A webhook and the delivery position of its endpoint. */
export interface WebhookWithProgress {
  readonly webhook: ShownWebhook;
  readonly progress: Pick<DeliveryProgress, 'sequence' | 'lastAttemptAt' | 'lastStatus' | 'nextAttemptAt'>;
}

const CHANGEABLE = ['url', 'actions', 'agentId', 'description'] as const;

@Injectable()
export class WebhooksService {
  private tests = 0;

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly counters: CounterReader,
    private readonly store: DeliveryProgressStore,
    private readonly dispatcher: WebhookDispatcher,
    private readonly sender: WebhookSender,
    private readonly answers: AnswersOnce,
    private readonly configuration: Configuration,
  ) {}

  list(request: PageRequest): Promise<Page<ShownWebhook & { readonly createdSequence: number }>> {
    return this.reader.page(WEBHOOK, request);
  }

  /** @throws NOT_FOUND */
  async get(id: string): Promise<WebhookWithProgress> {
    const webhook = await this.existing(id);
    const none = { lastAttemptAt: null, lastStatus: null, nextAttemptAt: null };
    const progress = (await this.store.of(id)) ?? { sequence: webhook.createdSequence, ...none };
    return { webhook, progress };
  }

  /**
   * @throws VALIDATION_ERROR for a URL that must not be delivered to, or an unknown agent; CONFLICT when there are too
   * many.
   */
  async create(caller: Caller, request: NewWebhook): Promise<WebhookWithSecret> {
    this.requireUrl(request.url);
    const secret = newSecret();
    const created = await this.ledger.prefetching(...lookups(request)).write(caller, async (transaction) => {
      const { url, actions, description = '' } = request;
      const agentId = (await agentOf(transaction, request)) ?? null;
      await requireRoom(transaction);
      const webhook = {
        id: transaction.newId(WEBHOOK),
        url,
        actions,
        agentId,
        description,
        secretHash: hashOfSecret(secret),
        secrets: [{ secret, until: null }],
        status: 'active',
        createdAt: transaction.now,
        updatedAt: transaction.now,
      } as const;
      return transaction.insert(WEBHOOK, webhook, createdNote(webhook));
    });
    this.dispatcher.pollSoon();
    return { webhook: created, secret };
  }

  /** The delivery position stays as it is. @throws NOT_FOUND; VALIDATION_ERROR as at creation. */
  async update(caller: Caller, id: string, request: Partial<NewWebhook>): Promise<ShownWebhook> {
    if (request.url !== undefined) this.requireUrl(request.url);
    const updated = await this.ledger
      .prefetching(byId(WEBHOOK, id), ...lookups(request))
      .write(caller, async (transaction) => {
        const webhook = await found(transaction, id);
        const given = { ...request, agentId: await agentOf(transaction, request) };
        const fields = CHANGEABLE.filter(
          (name) => given[name] !== undefined && JSON.stringify(given[name]) !== JSON.stringify(webhook[name]),
        );
        const { url = webhook.url, actions = webhook.actions, description = webhook.description } = given;
        const changed = { ...webhook, url, actions, description, agentId: given.agentId ?? webhook.agentId };
        return withChanges(transaction, webhook, changed, fields);
      });
    this.dispatcher.pollSoon();
    return updated;
  }

  /** @throws NOT_FOUND */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.ledger.prefetching(byId(WEBHOOK, id)).write(caller, async (transaction) => {
      transaction.remove(WEBHOOK, await found(transaction, id), deletedNote());
    });
    this.dispatcher.pollSoon();
  }

  /** @throws NOT_FOUND */
  async rotateSecret(caller: Caller, id: string): Promise<WebhookWithSecret> {
    const secret = newSecret();
    const webhook = await this.ledger.prefetching(byId(WEBHOOK, id)).write(caller, async (transaction) => {
      const before = await found(transaction, id);
      const secrets = rotated(before.secrets, secret, transaction.now);
      return withChanges(transaction, before, { ...before, secrets, secretHash: hashOfSecret(secret) }, ['secret']);
    });
    this.dispatcher.pollSoon();
    return { webhook, secret };
  }

  /** A single attempt, which changes nothing here. @throws NOT_FOUND; UNAVAILABLE when too many are in progress. */
  test(caller: Caller, id: string): Promise<Pick<Attempt, 'status' | 'durationMs'>> {
    return this.answers.answer(caller, async () => {
      const webhook = await this.existing(id);
      if (this.tests >= MOST_TESTS) throw unavailable(`${MOST_TESTS} tests of webhooks are under way.`);
      this.tests += 1;
      try {
        return await this.attempt(webhook);
      } finally {
        this.tests -= 1;
      }
    });
  }

  /** @throws NOT_FOUND; VALIDATION_ERROR for a position beyond the head. */
  replay(caller: Caller, id: string, after: number): Promise<ShownWebhook> {
    return this.answers.answer(caller, async () => {
      await this.existing(id);
      const head = await this.counters.headSequence();
      if (after > head) throw invalidField('after', `must not be beyond the last entry, which is ${head}`);
      await this.store.replay(id, after);
      return this.activated(caller, id);
    });
  }

  /** @throws NOT_FOUND */
  resume(caller: Caller, id: string): Promise<ShownWebhook> {
    return this.answers.answer(caller, async () => {
      const { createdSequence } = await this.existing(id);
      await this.store.resume(id, createdSequence);
      return this.activated(caller, id);
    });
  }

  private async activated(caller: Caller, id: string): Promise<ShownWebhook> {
    const webhook = await this.ledger.prefetching(byId(WEBHOOK, id)).write(withoutKey(caller), async (transaction) => {
      const before = await found(transaction, id);
      const fields: readonly ChangedMember[] = before.status === 'active' ? [] : ['status'];
      return withChanges(transaction, before, { ...before, status: 'active' }, fields);
    });
    this.dispatcher.pollSoon();
    return shownWebhook(webhook);
  }

  private async attempt({ url, secrets }: Webhook): Promise<Pick<Attempt, 'status' | 'durationMs'>> {
    const connections = this.sender.connections();
    const timestamp = new Date().toISOString();
    const body = Buffer.from(JSON.stringify({ type: 'webhook.test', timestamp, data: {} }));
    const signing = signingAt(secrets, timestamp);
    const id = `test_${crypto.randomUUID()}`;
    const delivery = { url, secrets: signing, connections, id, body, mayStill: () => true };
    const { status, durationMs } = await this.sender.send(delivery);
    connections.close();
    return { status, durationMs };
  }

  private async existing(id: string): Promise<Webhook> {
    const webhook = await this.reader.find(WEBHOOK, id);
    if (webhook === undefined) throw notFound('webhook');
    return webhook;
  }

  private requireUrl(url: string): void {
    const fault = webhookUrlFault(url, this.configuration);
    if (fault !== undefined) throw invalidField('url', fault);
  }
}

async function found(transaction: LedgerTransaction, id: string): Promise<Webhook> {
  const webhook = await transaction.find(WEBHOOK, id);
  if (webhook === undefined) throw notFound('webhook');
  return webhook;
}

function lookups({ agentId }: Partial<NewWebhook>): ReturnType<typeof agentLookup>[] {
  return agentId === undefined ? [] : [agentLookup(agentId)];
}

async function agentOf(transaction: LedgerTransaction, { agentId }: Partial<NewWebhook>): Promise<string | undefined> {
  return agentId === undefined ? undefined : (await referencedAgent(transaction, 'agentId', agentId)).id;
}

/** If nothing has changed, no entry is written. */
function withChanges(
  transaction: LedgerTransaction,
  before: Webhook,
  changed: Webhook,
  fields: readonly ChangedMember[],
): Webhook {
  if (fields.length === 0) return before;
  return transaction.update(WEBHOOK, { ...changed, updatedAt: transaction.now }, updatedNote(fields));
}
