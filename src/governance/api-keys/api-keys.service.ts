import { Injectable } from '@nestjs/common';
import { agentLookup, referencedAgent } from '../agents/find-agent';
import { found } from '../../core/errors/domain-error';
import { requireAhead } from '../../http/validation/fields';
import type { Caller, Scope } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/lookup';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { RecordReader } from '../../ledger/reading/record-reader';
import { API_KEY, type ApiKey, createdNote, revokedNote } from './api-key.entity';
import { ActiveKeys, isDue, settleExpiry } from './active-keys';
import { hashOfSecret, prefixOf, randomPart } from './secret';

/** What a key is to allow. */
export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Id or name. */
  readonly agentId?: string | undefined;
  /** Patterns of the principals on whose behalf the holder may act. */
  readonly principals?: readonly string[] | undefined;
  readonly expiresAt?: string | undefined;
}

/** A key and its secret, which is only shown this once. */
export interface IssuedKey {
  readonly key: ApiKey;
  readonly secret: string;
}

@Injectable()
export class ApiKeysService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly keys: ActiveKeys,
  ) {}

  /** @throws NOT_FOUND */
  async get(id: string): Promise<ApiKey> {
    return found(await this.reader.find(API_KEY, id), 'API key');
  }

  /** @throws VALIDATION_ERROR for an unknown agent, or a time in the past. */
  issue(caller: Caller, request: NewKey): Promise<IssuedKey> {
    const { agentId } = request;
    const random = randomPart();
    const lookups = agentId === undefined ? [] : [agentLookup(agentId)];
    return this.ledger.prefetching(...lookups).write(caller, async (transaction) => {
      requireAhead(request.expiresAt, this.ledger.clockTime);
      const boundTo = agentId === undefined ? null : (await referencedAgent(transaction, 'agentId', agentId)).id;
      const { key, secret } = issued(transaction, request, boundTo, random);
      const inserted = transaction.insert(API_KEY, key, createdNote(key));
      this.keys.follow(transaction, inserted);
      return { key: inserted, secret };
    });
  }

  /** From this commit on the key is rejected. Does nothing if the key has already ended. @throws NOT_FOUND */
  revoke(caller: Caller, id: string, reason: string | null): Promise<ApiKey> {
    return this.ledger.prefetching(byId(API_KEY, id)).write(caller, async (transaction) => {
      const key = found(await transaction.find(API_KEY, id), 'API key');
      const { now } = transaction;
      if (isDue(key, now)) return settleExpiry(transaction, this.keys, key);
      if (key.status !== 'active') return key;
      const revoked = { ...key, status: 'revoked', revokedAt: now } as const;
      this.keys.follow(transaction, revoked);
      return transaction.update(API_KEY, revoked, revokedNote(key, reason));
    });
  }
}

function issued(
  transaction: LedgerTransaction,
  {
    name,
    scopes,
    principals = [],
    expiresAt = null,
  }: Omit<NewKey, 'expiresAt'> & { readonly expiresAt?: string | null | undefined },
  agentId: string | null,
  random: string,
): { readonly key: Omit<ApiKey, 'createdSequence'>; readonly secret: string } {
  const id = transaction.newId(API_KEY);
  const prefix = prefixOf(id);
  const secret = `${prefix}_${random}`;
  const key = {
    id,
    name,
    scopes,
    agentId,
    principals,
    prefix,
    secretHash: hashOfSecret(secret),
    status: 'active',
    createdAt: transaction.now,
    expiresAt,
    revokedAt: null,
  } as const;
  return { key, secret };
}
