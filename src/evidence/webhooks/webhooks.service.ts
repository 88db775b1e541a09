import { Injectable } from '@nestjs/common';
import { agentLookup, requireReferencedAgent } from '../../governance/agents/find-agent';
import { requireFound, invalidField, unavailable } from '../../core/errors/domain-error';
import { staleCallerError } from '../../http/responses/response-end';
import { ShutdownGuard } from '../../http/server/shutdown';
import type { Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import type { SqlStatement } from '../../ledger/database/sql-connection';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { sha256 } from '../../ledger/chain/hash-chain';
import { byId } from '../../ledger/kinds/lookup';
import { changedMembers } from '../../ledger/records/changed-members';
import { RecordReader } from '../../ledger/reading/record-reader';
import { DeliveryProgressStore, replayStatement, resumeStatement } from './delivery/delivery-position-store';
import { WebhookDispatcher } from './delivery/webhook-dispatcher';
import {
  type CreateWebhookRequest,
  type UpdateWebhookRequest,
  WebhookResponse,
  type WebhookTestResponse,
  type WebhookWithDeliveryResponse,
  type WebhookWithSecretResponse,
} from './dto/webhook.dto';
import { type Connections, WebhookSender } from './delivery/webhook-sender';
import { newSecret, withRotation, signingAt } from './signing-secrets';
import { WebhookBodies } from './messages/webhook-bodies';
import {
  actionsFault,
  withAddress,
  addressOf,
  type ChangedMember,
  requireWebhook,
  requireRoom,
  WEBHOOK,
  type Webhook,
} from './webhook.entity';

/** Most concurrent test deliveries. */
const MAX_TESTS = 10;
/** Milliseconds that attempts may continue after shutdown begins: less than the wait for their requests. */
const GRACE = 5_000;

/** Returns the change of a webhook's delivery position. */
type NewPosition = (webhook: Webhook, transaction: ServiceTransaction) => SqlStatement;

const CHANGEABLE = ['url', 'actions', 'agentId', 'description'] as const;

@Injectable()
export class WebhooksService {
  /** Connections of the tests under way. */
  private readonly connected = new Set<Connections>();

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly store: DeliveryProgressStore,
    private readonly dispatcher: WebhookDispatcher,
    private readonly sender: WebhookSender,
    private readonly bodies: WebhookBodies,
    gate: ShutdownGuard,
  ) {
    gate.signal.addEventListener('abort', () => setTimeout(() => this.stopTests(), GRACE).unref(), { once: true });
  }

  /** @throws NOT_FOUND */
  async get(id: string): Promise<WebhookWithDeliveryResponse> {
    const webhook = requireFound(await this.reader.find(WEBHOOK, id), 'webhook');
    const none = { lastAttemptAt: null, lastStatus: null, nextAttemptAt: null };
    return { ...webhook, delivery: (await this.store.find(id)) ?? { sequence: webhook.createdSequence, ...none } };
  }

  /** @throws VALIDATION_ERROR for an unknown agent; CONFLICT if there are too many */
  async create(caller: Caller, request: CreateWebhookRequest): Promise<WebhookWithSecretResponse> {
    const secret = newSecret();
    const created = await this.ledger.withLookups(...lookups(request)).write(caller, async (transaction) => {
      const { url, actions, description = '', format = 'event', detail = 'full', buttons = false } = request;
      const { approvers = [] } = request;
      const agentId = (await agentOf(transaction, request)) ?? null;
      await requireRoom(transaction);
      const webhook = {
        id: transaction.newId(WEBHOOK),
        ...withAddress(format, url),
        format,
        detail,
        buttons,
        approvers,
        actions,
        agentId,
        description,
        secretHash: sha256(secret),
        secrets: [{ secret, until: null }],
        status: 'active',
        createdAt: transaction.now,
        updatedAt: transaction.now,
      } as const;
      return transaction.insert(WEBHOOK, webhook, { action: 'webhook.created', details: { actions } });
    });
    this.dispatcher.pollSoon();
    return { ...created, url: request.url, secret };
  }

  /**
   * Updates a webhook. Its delivery position stays, and a filter applies to the entries that follow.
   * @throws NOT_FOUND; VALIDATION_ERROR as at creation
   */
  async update(caller: Caller, id: string, request: UpdateWebhookRequest): Promise<WebhookResponse> {
    const updated = await this.ledger
      .withLookups(byId(WEBHOOK, id), ...lookups(request))
      .write(caller, async (transaction) => {
        const webhook = await requireWebhook(transaction, id);
        const before = { ...webhook, url: addressOf(webhook) };
        const input = { ...request, agentId: await agentOf(transaction, request) };
        const changes = changedMembers(before, input, CHANGEABLE);
        const { url, actions, ...changed } = { ...before, ...changes };
        const fault = actionsFault(webhook.format, actions);
        if (fault !== undefined) throw invalidField('actions', fault);
        const fields = CHANGEABLE.filter((name) => name in changes);
        return withChanges(transaction, webhook, { ...changed, actions, ...withAddress(webhook.format, url) }, fields);
      });
    this.dispatcher.pollSoon();
    return updated;
  }

  /** @throws NOT_FOUND */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.ledger.withLookups(byId(WEBHOOK, id)).write(caller, async (transaction) => {
      transaction.remove(WEBHOOK, await requireWebhook(transaction, id), { action: 'webhook.deleted' });
    });
    this.dispatcher.pollSoon();
  }

  /** @throws NOT_FOUND */
  async rotateSecret(caller: Caller, id: string): Promise<WebhookWithSecretResponse> {
    const secret = newSecret();
    const webhook = await this.ledger.withLookups(byId(WEBHOOK, id)).write(caller, async (transaction) => {
      const before = await requireWebhook(transaction, id);
      const secrets = withRotation(before.secrets, secret, transaction.now);
      return withChanges(transaction, before, { ...before, secrets, secretHash: sha256(secret) }, ['secret']);
    });
    this.dispatcher.pollSoon();
    return { ...webhook, secret };
  }

  /** @throws NOT_FOUND; VALIDATION_ERROR for a position beyond the head. */
  replay(caller: Caller, id: string, after: number): Promise<WebhookResponse> {
    return this.activated(caller, id, (_webhook, { headSequence: head }) => {
      if (after > head) throw invalidField('after', `must not be beyond the last entry, which is ${head}`);
      return replayStatement(id, after, head);
    });
  }

  /** @throws NOT_FOUND */
  resume(caller: Caller, id: string): Promise<WebhookResponse> {
    return this.activated(caller, id, ({ createdSequence }) => resumeStatement(id, createdSequence));
  }

  /**
   * Makes a single attempt, which is not recorded.
   * @throws NOT_FOUND; UNAVAILABLE if too many are in progress; UNAUTHORIZED or PERMISSION_DENIED for a caller that is
   * no longer admitted
   */
  async test(caller: Caller, id: string): Promise<WebhookTestResponse> {
    // Read in a command, which sees that another process has revoked a key.
    const webhook = await this.ledger.write(caller, (transaction) => requireWebhook(transaction, id));
    if (this.connected.size >= MAX_TESTS) throw unavailable(`${MAX_TESTS} tests of webhooks are under way.`);
    const url = addressOf(webhook);
    const connections = this.sender.connections(url);
    this.connected.add(connections);
    const timestamp = new Date().toISOString();
    const testId = `test_${crypto.randomUUID()}`;
    const { status, durationMs } = await this.sender.send({
      url,
      secrets: signingAt(webhook.secrets, timestamp),
      connections,
      id: testId,
      body: this.bodies.buildTest(webhook, testId, timestamp),
      mayStill: () => staleCallerError(caller) === null,
    });
    connections.close();
    this.connected.delete(connections);
    const end = staleCallerError(caller);
    if (end !== null) throw end;
    return { status, durationMs };
  }

  /** Ends the attempts under way, so that their requests are answered before the service ends. */
  private stopTests(): void {
    for (const connections of this.connected) connections.close();
  }

  private async activated(caller: Caller, id: string, position: NewPosition): Promise<WebhookResponse> {
    const activated = await this.ledger.withLookups(byId(WEBHOOK, id)).write(caller, async (transaction) => {
      const before = await requireWebhook(transaction, id);
      transaction.writeWithoutEntry(position(before, transaction));
      const fields: readonly ChangedMember[] = before.status === 'active' ? [] : ['status'];
      // Without the secrets, because an idempotency key stores the response.
      return WebhookResponse.from(withChanges(transaction, before, { ...before, status: 'active' }, fields));
    });
    this.dispatcher.pollSoon();
    return activated;
  }
}

function lookups({ agentId }: UpdateWebhookRequest): ReturnType<typeof agentLookup>[] {
  return agentId === undefined ? [] : [agentLookup(agentId)];
}

async function agentOf(
  transaction: ServiceTransaction,
  { agentId }: UpdateWebhookRequest,
): Promise<string | undefined> {
  return agentId === undefined ? undefined : (await requireReferencedAgent(transaction, 'agentId', agentId)).id;
}

/** Updates the record; writes no entry if nothing has changed. */
function withChanges(
  transaction: ServiceTransaction,
  before: Webhook,
  changed: Webhook,
  fields: readonly ChangedMember[],
): Webhook {
  if (fields.length === 0) return before;
  const updated = { ...changed, updatedAt: transaction.now };
  return transaction.update(WEBHOOK, updated, { action: 'webhook.updated', details: { fields } });
}
