import { createApp } from '../../src/create-app';
import { ENTITY } from '../../src/governance/entities/governed-entity.entity';
import { type Caller, unlimitedIdentity } from '../../src/ledger/kinds/caller';
import type { Command } from '../../src/ledger/commands/ledger-transaction';
import { LedgerService } from '../../src/ledger/ledger.service';
import { ActivePolicies } from '../../src/governance/policies/active-policies';
import { SAMPLE_REQUEST } from '../http/sample-entity';
import { policies } from '../ledger/samples';
import { serviceSettings } from '../support/settings';

/** Numbers of records in a database. */
export interface Volume {
  readonly entities: number;
  readonly policies: number;
}

/** Number of records of one command: enough to make its commit cheap, few enough to fit in memory easily. */
const CHUNK = 500;
/** Number of entity types. */
const TYPES = 10;
const CALLER: Caller = {
  ...unlimitedIdentity({ type: 'api_key', id: 'env' }),
  requestId: 'seeding',
  ip: '127.0.0.1',
  traceId: null,
};

/** Fills a database through the ledger, many records to a command, so that its chain and counters are right. */
export async function seed(database: string, volume: Volume): Promise<void> {
  const application = await createApp({ environment: { ...serviceSettings(database), LOG_LEVEL: 'silent' } });
  try {
    const ledger = application.get(LedgerService);
    const activePolicies = application.get(ActivePolicies);
    for (let start = 0; start < volume.policies; start += CHUNK)
      await ledger.write(CALLER, addPolicies(start, volume, activePolicies));
    for (let start = 0; start < volume.entities; start += CHUNK) await ledger.write(CALLER, addEntities(start, volume));
  } finally {
    await application.close();
  }
}

function addEntities(first: number, { entities }: Volume): Command<void> {
  return async (transaction) => {
    const { now } = transaction;
    for (let index = first; index < Math.min(first + CHUNK, entities); index += 1) {
      const id = transaction.newId(ENTITY);
      const description = { ...SAMPLE_REQUEST, type: `type-${index % TYPES}`, name: `Entity ${index}` };
      const entity = { id, ...description, createdAt: now, updatedAt: now, revision: 1 };
      transaction.insert(ENTITY, entity, { action: 'entity.created', entityId: id });
    }
  };
}

function addPolicies(first: number, volume: Volume, activePolicies: ActivePolicies): Command<void> {
  return async (transaction) => {
    const changes = policies(volume.policies)
      .slice(first, first + CHUNK)
      .map((request) => {
        const otherMembers = { description: '', resourceTypes: [], priority: 0, conditions: [] };
        const policy = { ...otherMembers, ...request, limits: [], onBehalfOf: [], approval: null, team: null };
        return { change: 'create', policy, replaced: null } as const;
      });
    await activePolicies.carryOut(transaction, changes, new Map());
  };
}
