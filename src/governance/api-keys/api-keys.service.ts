import { Injectable } from '@nestjs/common';
import { agentLookup, referencedAgent } from '../agents/find-agent';
import { found } from '../../core/errors/domain-error';
import { requireAhead } from '../../http/validation/fields';
import type { Caller } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { sha256 } from '../../ledger/chain/hash-chain';
import { byId } from '../../ledger/lookup';
import { API_KEY, type ApiKey } from './api-key.entity';
import { isDue, prefixOf, randomPart, settleExpiry } from './active-keys';
import type { CreateApiKeyRequest, IssuedApiKeyResponse } from './dto/api-key.dto';

@Injectable()
export class ApiKeysService {
  constructor(private readonly ledger: LedgerService) {}

  /** @throws VALIDATION_ERROR for an unknown agent, or a time in the past. */
  issue(caller: Caller, request: CreateApiKeyRequest): Promise<IssuedApiKeyResponse> {
    const { name, scopes, agentId: given, principals = [], expiresAt = null } = request;
    const random = randomPart();
    const lookups = given === undefined ? [] : [agentLookup(given)];
    return this.ledger.prefetching(...lookups).write(caller, async (transaction) => {
      requireAhead(request.expiresAt, this.ledger.clockTime);
      const agentId = given === undefined ? null : (await referencedAgent(transaction, 'agentId', given)).id;
      const id = transaction.newId(API_KEY);
      const prefix = prefixOf(id);
      const secret = `${prefix}_${random}`;
      const allowed = { id, name, scopes, agentId, principals, prefix, secretHash: sha256(secret) };
      const state = { status: 'active', createdAt: transaction.now, expiresAt, revokedAt: null } as const;
      const note = { action: 'api_key.created', agentId, details: { scopes, expiresAt } };
      const key = transaction.insert(API_KEY, { ...allowed, ...state }, note);
      return { ...key, secret };
    });
  }

  /** From this commit on the key is rejected. Does nothing if the key has already ended. @throws NOT_FOUND */
  revoke(caller: Caller, id: string, reason: string | null): Promise<ApiKey> {
    return this.ledger.prefetching(byId(API_KEY, id)).write(caller, async (transaction) => {
      const key = found(await transaction.find(API_KEY, id), 'API key');
      const { now } = transaction;
      if (isDue(key, now)) return settleExpiry(transaction, key);
      if (key.status !== 'active') return key;
      const revoked = { ...key, status: 'revoked', revokedAt: now } as const;
      return transaction.update(API_KEY, revoked, { action: 'api_key.revoked', agentId: key.agentId, reason });
    });
  }
}
