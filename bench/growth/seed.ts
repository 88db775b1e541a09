import { createApp } from '../../src/create-app';
import { ENTITY } from '../../src/entities/entity.kind';
import type { Caller } from '../../src/ledger/caller';
import type { Command } from '../../src/ledger/ledger-transaction';
import { LedgerService } from '../../src/ledger/ledger.service';
import { PolicyBook } from '../../src/policies/policy-book';
import { noteOn } from '../../src/policies/policy-notes';
import { POLICY } from '../../src/policies/policy.kind';
import { SAMPLE_REQUEST } from '../http/sample-entity';
import { policies } from '../ledger/samples';
import { serviceSettings } from '../support/settings';

/** How much a database holds. */
export interface Volume {
  readonly entities: number;
  readonly policies: number;
}

/** Records of one command: enough to make its commit cheap, few enough to keep them out of the way in memory. */
const PIECE = 500;
/** Entities are of so many types. */
const TYPES = 10;
const CALLER: Caller = { actor: { type: 'api_key', id: 'env' }, requestId: 'seeding', ip: '127.0.0.1' };

/** Fills a database through the ledger, many records to a command, so that its chain and counters are right. */
export async function seed(database: string, volume: Volume): Promise<void> {
  const application = await createApp({ environment: { ...serviceSettings(database), LOG_LEVEL: 'silent' } });
  try {
    const ledger = application.get(LedgerService);
    const book = application.get(PolicyBook);
    for (let made = 0; made < volume.policies; made += PIECE)
      await ledger.write(CALLER, addPolicies(made, volume, book));
    for (let made = 0; made < volume.entities; made += PIECE) await ledger.write(CALLER, addEntities(made, volume));
  } finally {
    await application.close();
  }
}

function addEntities(first: number, { entities }: Volume): Command<void> {
  return async (transaction) => {
    const { now } = transaction;
    for (let index = first; index < Math.min(first + PIECE, entities); index += 1) {
      const id = transaction.newId(ENTITY);
      const described = { ...SAMPLE_REQUEST, type: `type-${index % TYPES}`, name: `Entity ${index}` };
      const entity = { id, ...described, createdAt: now, updatedAt: now, revision: 1 };
      transaction.insert(ENTITY, entity, { action: 'entity.created', entityId: id });
    }
  };
}

function addPolicies(first: number, volume: Volume, book: PolicyBook): Command<void> {
  return async (transaction) => {
    for (const request of policies(volume.policies).slice(first, first + PIECE)) {
      const rules = { description: '', resourceTypes: [], priority: 0, ...request };
      const stored = { status: 'active', warnings: [], createdAt: transaction.now } as const;
      const policy = { id: transaction.newId(POLICY), ...rules, ...stored };
      book.follow(transaction, transaction.insert(POLICY, policy, noteOn(policy, 'policy.created')));
    }
  };
}
