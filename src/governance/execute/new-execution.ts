import type { Agent } from '../agents/agent.entity';
import { ENTITY } from '../entities/governed-entity.entity';
import { actionHash } from '../executions/execution-rules';
import { type Execution, EXECUTION } from '../executions/execution.entity';
import type { JsonObject } from '../../core/json/json-value';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import type { DecidingPolicy } from '../policies/evaluation/evaluation';
import { entityIdIn, resourceKey } from '../policies/conditions/condition';
import type { RequestedAction } from '../permissions/permissions';
import {
  type PrincipalInput,
  namedPeople,
  type Principal,
  principalOf,
  unknownPersonFault,
} from '../permissions/principals';
import type { PermitRequest } from '../permits/permits';
import type { OnBehalfOf } from '../policies/patterns/principals';
import { findAgents } from '../agents/find-agent';
import { invalid, requirePresent } from '../../core/errors/domain-error';
import { decimalText } from '../../core/values/decimal';
import { isWarnedOf, type LimitUse, recordedUse, usedAfter } from '../policies/limits/limit';
import { LIMIT_WARNED, POLICY } from '../policies/policy.entity';

/** An action that an agent wants to perform on a resource. */
export interface ActionRequest extends RequestedAction {
  readonly parameters: JsonObject;
  readonly onBehalfOf?: PrincipalInput | undefined;
  /** Conversation or task that the action is part of. */
  readonly run?: string | undefined;
  /** Upstream of the gateway that sends the request. */
  readonly via?: string | undefined;
  /** Execution with an unknown outcome that the caller knowingly repeats. */
  readonly repeats?: string | null | undefined;
  readonly permit?: PermitRequest | undefined;
  /** Pointers to secrets, in addition to those of SECRET_PARAMETERS. */
  readonly secret?: readonly string[] | undefined;
}

/** A requested execution that has no outcome yet. */
export type NewExecution = Omit<Execution, 'outcome' | 'createdSequence' | 'actionHash'> & {
  readonly actionHash: string;
};

export async function buildExecution(
  transaction: ServiceTransaction,
  agent: Agent,
  { action, resourceType, resourceId, parameters, run, via }: ActionRequest,
  onBehalfOf: OnBehalfOf | null,
  policies: readonly DecidingPolicy[],
): Promise<NewExecution> {
  const approvedAction = { agentId: agent.id, action, resourceType, resourceId, parameters, onBehalfOf };
  const entityId = entityIdIn(resourceId);
  return {
    id: transaction.newId(EXECUTION),
    agentName: agent.name,
    ...approvedAction,
    actionHash: actionHash(approvedAction),
    principal: onBehalfOf?.subject ?? null,
    run: run ?? null,
    via: via ?? null,
    resourceKey: resourceKey({ resourceType, resourceId }),
    policies,
    decisionId: null,
    result: null,
    reason: null,
    failureReason: null,
    approvedUntil: null,
    completedAt: null,
    runBy: '',
    resumedSequence: null,
    observed: false,
    grantId: null,
    instead: null,
    erased: false,
    traceId: transaction.caller.traceId,
    createdAt: transaction.now,
    entityId: entityId !== null && (await transaction.exists(ENTITY, entityId)) ? entityId : null,
  };
}

/**
 * Returns the principal of a request, with the current state of agents.
 * @throws PERMISSION_DENIED if the caller does not vouch for the principal; VALIDATION_ERROR for an unknown person
 */
export async function requirePrincipal(
  transaction: ServiceTransaction,
  input: PrincipalInput | undefined,
): Promise<Principal | null> {
  const people = await findAgents(transaction, new Set(namedPeople(transaction.caller, input)));
  const principal = principalOf(transaction.caller, input, people);
  if (principal === undefined) throw invalid([unknownPersonFault('onBehalfOf')]);
  return principal;
}

/**
 * Takes the authorised uses from limits, whether or not the action succeeds, and warns about limits that are nearly
 * used up.
 */
export async function takeUses(
  transaction: ServiceTransaction,
  agentId: string,
  used: readonly LimitUse[],
): Promise<void> {
  for (const use of used) transaction.setSum(use.sum, decimalText(usedAfter(use)));
  for (const use of used.filter(isWarnedOf)) {
    const policy = requirePresent(
      await transaction.find(POLICY, use.policy.id),
      `policy ${use.policy.id}, which is in force,`,
    );
    // Verification expects other processes to look for changes after every entry about a policy.
    transaction.afterCommit(() => undefined);
    transaction.record(POLICY, policy, { action: LIMIT_WARNED, agentId, details: recordedUse(use) });
  }
}
