import { Injectable, type FactoryProvider, type OnModuleInit } from '@nestjs/common';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { agentLookup, requireReferencedAgent } from '../agents/find-agent';
import { requireFound, callerRefused, type DomainError, unauthorized } from '../../core/errors/domain-error';
import { requireAhead } from '../../http/validation/fields';
import {
  type Caller,
  expandScopes,
  type Identity,
  type Scope,
  type AllowedPrincipals,
} from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { sha256 } from '../../ledger/chain/hash-chain';
import { byId } from '../../ledger/kinds/lookup';
import { API_KEY, type ApiKey } from './api-key.entity';
import type { CreateApiKeyRequest, IssuedApiKeyResponse } from './dto/api-key.dto';
import { Configuration } from '../../core/config/configuration';
import { ActivePolicies } from '../policies/active-policies';
import { guardWarnings } from '../policies/team-policies';
import { AgentCache } from '../agents/agents.service';
import { IssuedKeys } from '../../http/authentication/authentication';
import { type DueRecords, DueSettlement, dueSettlementOf } from '../../ledger/due-settlement';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { RowProjection } from '../../ledger/head/projections';

/** Random bytes of a secret, which become 43 characters of base64url. */
const RANDOM_BYTES = 32;

@Injectable()
export class ApiKeysService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly policies: ActivePolicies,
    private readonly configuration: Configuration,
  ) {}

  /** @throws VALIDATION_ERROR for an unknown agent, or a time in the past. */
  issue(caller: Caller, request: CreateApiKeyRequest): Promise<IssuedApiKeyResponse> {
    const { name, scopes, agentId: idOrName, principals = [], team = null, expiresAt = null } = request;
    const random = randomBytes(RANDOM_BYTES).toString('base64url');
    const lookups = idOrName === undefined ? [] : [agentLookup(idOrName)];
    return this.ledger.withLookups(...lookups).write(caller, async (transaction) => {
      requireAhead(request.expiresAt, this.ledger.clockTime);
      const agentId =
        idOrName === undefined ? null : (await requireReferencedAgent(transaction, 'agentId', idOrName)).id;
      const id = transaction.newId(API_KEY);
      const prefix = MARK + id.slice(id.indexOf('_') + 1);
      const secret = `${prefix}_${random}`;
      const allowed = { id, name, scopes, agentId, principals, team, prefix, secretHash: sha256(secret) };
      const state = { status: 'active', createdAt: transaction.now, expiresAt, revokedAt: null } as const;
      const note = {
        action: 'api_key.created',
        agentId,
        details: { scopes, expiresAt, ...(team !== null && { team }) },
      };
      const key = transaction.insert(API_KEY, { ...allowed, ...state }, note);
      if (team === null) return { ...key, secret };
      return { ...key, secret, warnings: guardWarnings(this.policies.stored, this.configuration.teamPriority) };
    });
  }

  /**
   * Revokes a key, which is rejected from this commit on. Does nothing if the key has already ended. @throws NOT_FOUND
   */
  revoke(caller: Caller, id: string, reason: string | null): Promise<ApiKey> {
    return this.ledger.withLookups(byId(API_KEY, id)).write(caller, async (transaction) => {
      const key = requireFound(await transaction.find(API_KEY, id), 'API key');
      const { now } = transaction;
      if (isDue(key, now)) return settleExpiry(transaction, key);
      if (key.status !== 'active') return key;
      const revoked = { ...key, status: 'revoked', revokedAt: now } as const;
      return transaction.update(API_KEY, revoked, { action: 'api_key.revoked', agentId: key.agentId, reason });
    });
  }
}

interface HeldKey {
  readonly id: string;
  readonly secretHash: Buffer;
  readonly expiresAt: string | null;
  readonly identity: Identity;
}

/** The active keys, in memory, so that identifying a caller takes no query. */
@Injectable()
export class ActiveKeys extends IssuedKeys implements OnModuleInit {
  /** Active keys by prefix. */
  private readonly active = new Map<string, HeldKey>();
  private readonly rows = new RowProjection<ApiKey>({
    kind: API_KEY,
    status: 'active',
    actions: ['api_key.created', 'api_key.revoked', 'api_key.expired'],
    keep: (keys) => keys.forEach((key) => this.keep(key)),
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly agents: AgentCache,
  ) {
    super();
  }

  async onModuleInit(): Promise<void> {
    await this.ledger.follow(this.rows);
  }

  holderOf(secret: string, digest: Buffer): Identity | null | Promise<Identity | null> {
    if (!SECRET.test(secret)) return null;
    const prefix = secret.slice(0, PREFIX_LENGTH);
    if (this.isUsable(prefix) || !this.ledger.hasOthers) return this.holder(prefix, digest);
    return this.changedHolder(prefix, digest);
  }

  async hasBoundKeyWith(scopes: readonly Scope[]): Promise<boolean> {
    await this.ledger.catchUp(this.rows);
    const identities = [...this.active.values()].map(({ identity }) => identity);
    return identities.some(
      ({ agentId, effectiveScopes }) => agentId !== null && scopes.every((scope) => effectiveScopes.has(scope)),
    );
  }

  /** Returns the ids of keys that have expired and are not settled yet. */
  due(now: string): string[] {
    const due = [...this.active.values()].filter(({ expiresAt }) => expiresAt !== null && expiresAt <= now);
    return due.map(({ id }) => id);
  }

  private isUsable(prefix: string): boolean {
    const key = this.active.get(prefix);
    if (key === undefined) return false;
    const { agentId } = key.identity;
    return agentId === null || !this.agents.isSuspended(agentId);
  }

  /** Returns the holder of a key that another process may have issued meanwhile, or whose agent it may have resumed. */
  private async changedHolder(prefix: string, digest: Buffer): Promise<Identity | null> {
    await this.ledger.catchUp(this.rows);
    const holder = this.holder(prefix, digest);
    if (holder !== null && holder.agentId !== null) await this.agents.catchUp();
    return holder;
  }

  private holder(prefix: string, digest: Buffer): Identity | null {
    const key = this.active.get(prefix);
    if (key === undefined || !timingSafeEqual(key.secretHash, digest)) return null;
    return this.isExpired(key) ? null : key.identity;
  }

  private keep(key: ApiKey): void {
    const { prefix, status } = key;
    if (status !== 'active') this.active.delete(prefix);
    // A key does not change otherwise, and requests in progress keep its identity object.
    else if (!this.active.has(prefix)) this.active.set(prefix, this.held(key));
  }

  private held({ id, prefix, scopes, agentId, principals: patterns, team, secretHash, expiresAt }: ApiKey): HeldKey {
    const refusal = (ledgerTime?: string): DomainError | null => {
      if (this.active.get(prefix) !== key || this.isExpired(key, ledgerTime)) return unauthorized();
      return agentId !== null && this.agents.isSuspended(agentId) ? callerRefused('agent_suspended') : null;
    };
    const actor = { type: 'api_key', id } as const;
    const principals: AllowedPrincipals = agentId === null && team === null ? 'anybody' : patterns;
    const allowed = { actor, agentId, principals, scopes, effectiveScopes: expandScopes(scopes) };
    const identity = { ...allowed, expiresAt, refusal, ...(team !== null && { team }) };
    const key: HeldKey = { id, secretHash: Buffer.from(secretHash, 'hex'), expiresAt, identity };
    return key;
  }

  /** True once the machine's clock or the ledger's, which may be ahead of it, has reached the expiry. */
  private isExpired({ expiresAt }: HeldKey, ledgerTime?: string): boolean {
    if (expiresAt === null) return false;
    return expiresAt <= new Date().toISOString() || expiresAt <= (ledgerTime ?? this.ledger.now);
  }
}

/** Settles keys that have expired. They are rejected from their expiry on, settled or not. */
export const EXPIRED_KEYS: FactoryProvider<DueSettlement<ApiKey>> = {
  provide: dueSettlementOf(API_KEY),
  inject: [LedgerService, ActiveKeys],
  useFactory: (ledger: LedgerService, keys: ActiveKeys) => {
    const records = {
      kind: API_KEY,
      settle: async (transaction, key) => {
        if (isDue(key, transaction.now)) settleExpiry(transaction, key);
      },
    } satisfies DueRecords<ApiKey>;
    // Keys are settled one by one: each takes a commit, and many together would hold up the writes of callers.
    return new DueSettlement(ledger, records, (now) => keys.due(now).map((id) => [id]), 'ApiKeys');
  },
};

/** True from `expiresAt` on, for a key that is neither settled nor revoked. */
function isDue({ status, expiresAt }: ApiKey, now: string): boolean {
  return status === 'active' && expiresAt !== null && expiresAt <= now;
}

function settleExpiry(transaction: LedgerTransaction, key: ApiKey): ApiKey {
  const expired = { ...key, status: 'expired' } as const;
  const { agentId, expiresAt } = key;
  const note = { action: 'api_key.expired', agentId, details: { expiresAt }, bySystem: true } as const;
  return transaction.update(API_KEY, expired, note);
}

/** The prefix of every secret, so that code scanners recognise a leaked one. */
const MARK = 'agk_';
/** `agk_` and a ULID. */
const PREFIX_LENGTH = MARK.length + 26;
const SECRET = /^agk_[0-9A-HJKMNP-TV-Z]{26}_[A-Za-z0-9_-]{43}$/;
