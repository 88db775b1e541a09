import { createApp } from '../../src/create-app';
import { ENTITY } from '../../src/governance/entities/governed-entity.entity';
import { type Caller, unlimited } from '../../src/ledger/caller';
import type { Command } from '../../src/ledger/ledger-transaction';
import { LedgerService } from '../../src/ledger/ledger.service';
import { ActivePolicies } from '../../src/governance/policies/active-policies';
import { noteOn, POLICY } from '../../src/governance/policies/policy.entity';
import { SAMPLE_REQUEST } from '../http/sample-entity';
import { policies } from '../ledger/samples';
import { serviceSettings } from '../support/settings';

/** How much a database holds. */
export interface Volume {
  readonly entities: number;
  readonly policies: number;
}

/** Records of one command: enough to make its commit cheap, few enough to fit in memory easily. */
const CHUNK = 500;
/** Number of entity types. */
const TYPES = 10;
const CALLER: Caller = {
  ...unlimited({ type: 'api_key', id: 'env' }),
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
    for (let made = 0; made < volume.policies; made += CHUNK)
      await ledger.write(CALLER, addPolicies(made, volume, activePolicies));
    for (let made = 0; made < volume.entities; made += CHUNK) await ledger.write(CALLER, addEntities(made, volume));
  } finally {
    await application.close();
  }
}

function addEntities(first: number, { entities }: Volume): Command<void> {
  return async (transaction) => {
    const { now } = transaction;
    for (let index = first; index < Math.min(first + CHUNK, entities); index += 1) {
      const id = transaction.newId(ENTITY);
      const described = { ...SAMPLE_REQUEST, type: `type-${index % TYPES}`, name: `Entity ${index}` };
      const entity = { id, ...described, createdAt: now, updatedAt: now, revision: 1 };
      transaction.insert(ENTITY, entity, { action: 'entity.created', entityId: id });
    }
  };
}

function addPolicies(first: number, volume: Volume, activePolicies: ActivePolicies): Command<void> {
  return async (transaction) => {
    const seeded = policies(volume.policies)
      .slice(first, first + CHUNK)
      .map((request) => {
        const rules = {
          description: '',
          resourceTypes: [],
          priority: 0,
          conditions: [],
          ...request,
          limits: [],
          onBehalfOf: [],
          approval: null,
        };
        const stored = { status: 'active', warnings: [], createdAt: transaction.now } as const;
        return { id: transaction.newId(POLICY), ...rules, ...stored };
      });
    const ids = seeded.map(({ id }) => id);
    const policySet = activePolicies.inForce.policySetWith(ids, []);
    for (const policy of seeded) {
      transaction.insert(POLICY, policy, noteOn(policy, 'policy.created', { policySet }));
    }
  };
}
