import type { Agent } from '../agents/agent.entity';
import { ENTITY } from '../entities/governed-entity.entity';
import { actionHash } from '../executions/execution-rules';
import { type Execution, EXECUTION, resourceKeyOf } from '../executions/execution.entity';
import type { JsonObject } from '../../core/json/json-value';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { existence, type Lookup } from '../../ledger/lookup';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import { entityIdIn } from '../policies/conditions/condition';
import type { RequestedAction } from '../permissions/permissions';
import type { GivenPrincipal } from '../permissions/principals';
import type { AskedPermit } from '../permits/asked-permit';
import type { OnBehalfOf } from '../policies/patterns/principals';

/** An action that an agent wants to perform on a resource. */
export interface ActionRequest extends RequestedAction {
  readonly parameters: JsonObject;
  readonly onBehalfOf?: GivenPrincipal | undefined;
  /** The conversation or task that it is part of. */
  readonly run?: string | undefined;
  readonly permit?: AskedPermit | undefined;
}

/** An execution as requested, before it has an outcome. */
export type AskedExecution = Omit<Execution, 'outcome' | 'createdSequence' | 'actionHash'> & {
  readonly actionHash: string;
};

export async function askedExecution(
  transaction: LedgerTransaction,
  agent: Agent,
  { action, resourceType, resourceId, parameters, run }: ActionRequest,
  onBehalfOf: OnBehalfOf | null,
  policies: readonly DecidingPolicy[],
): Promise<AskedExecution> {
  const asked = { agentId: agent.id, action, resourceType, resourceId, parameters, onBehalfOf };
  return {
    id: transaction.newId(EXECUTION),
    agentName: agent.name,
    ...asked,
    actionHash: actionHash(asked),
    principal: onBehalfOf?.subject ?? null,
    run: run ?? null,
    resourceKey: resourceKeyOf(run ?? null, resourceType, resourceId),
    policies,
    decisionId: null,
    result: null,
    reason: null,
    failureReason: null,
    approvedUntil: null,
    completedAt: null,
    runBy: '',
    observed: false,
    grantId: null,
    instead: null,
    erased: false,
    traceId: transaction.caller.traceId,
    createdAt: transaction.now,
    entityId: await entityIdOf(transaction, resourceId),
  };
}

/** The lookups needed to find the entity of a resource. */
export function entityLookups(resourceId: string): Lookup[] {
  const id = entityIdIn(resourceId);
  return id === null ? [] : [existence(ENTITY, id)];
}

/** The entity named by the last segment of the resource that has the form of an entity's id. */
async function entityIdOf(transaction: LedgerTransaction, resourceId: string): Promise<string | null> {
  const id = entityIdIn(resourceId);
  return id !== null && (await transaction.exists(ENTITY, id)) ? id : null;
}
