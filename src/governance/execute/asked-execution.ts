import type { Agent } from '../agents/agent.entity';
import { ENTITY } from '../entities/governed-entity.entity';
import { actionHash } from '../executions/execution-rules';
import { type Execution, EXECUTION } from '../executions/execution.entity';
import type { JsonObject } from '../../core/json/json-value';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { existence, type Lookup } from '../../ledger/lookup';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import type { RequestedAction } from '../permissions/permissions';

/** An action that an agent wants to perform on a resource. */
export interface ActionRequest extends RequestedAction {
  readonly parameters: JsonObject;
}

/** An execution as requested, before it has an outcome. */
export type AskedExecution = Omit<Execution, 'outcome' | 'createdSequence' | 'actionHash'> & {
  readonly actionHash: string;
};

export async function askedExecution(
  transaction: LedgerTransaction,
  agent: Agent,
  { action, resourceType, resourceId, parameters }: ActionRequest,
  policies: readonly DecidingPolicy[],
): Promise<AskedExecution> {
  const asked = { agentId: agent.id, action, resourceType, resourceId, parameters };
  return {
    id: transaction.newId(EXECUTION),
    agentName: agent.name,
    ...asked,
    actionHash: actionHash(asked),
    policies,
    decisionId: null,
    result: null,
    reason: null,
    failureReason: null,
    approvedUntil: null,
    completedAt: null,
    runBy: '',
    createdAt: transaction.now,
    entityId: await entityIdOf(transaction, resourceId),
  };
}

/** The lookups needed to find the entity of a resource. */
export function entityLookups(resourceId: string): Lookup[] {
  const id = resourceId.slice(resourceId.lastIndexOf('/') + 1);
  return id.startsWith(`${ENTITY.idPrefix}_`) ? [existence(ENTITY, id)] : [];
}

/** The entity whose id is the resource, or the last segment of its path. */
async function entityIdOf(transaction: LedgerTransaction, resourceId: string): Promise<string | null> {
  const [lookup] = entityLookups(resourceId);
  return lookup !== undefined && (await transaction.exists(ENTITY, lookup.value)) ? lookup.value : null;
}
