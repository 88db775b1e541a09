import { conflict, type DomainError } from '../../core/errors/domain-error';
import type { Decision, Review } from '../../governance/decisions/decision.entity';
import type { Grant } from '../../governance/decisions/grants/grant.entity';
import type { Execution, ExecutionOutcome } from '../../governance/executions/execution.entity';

/** Outcomes that can still lead to the action. */
const OPEN: ReadonlySet<ExecutionOutcome> = new Set(['pending_approval', 'approved', 'running']);

/** True if an execution, or the decision that it depends on, is not settled yet. */
export function isUnsettled(record: Pick<Execution, 'outcome'> | Pick<Decision, 'status'>): boolean {
  return 'outcome' in record ? OPEN.has(record.outcome) : record.status === 'proposed';
}

/** Returns what an erased execution keeps: agent, kind of action, times and outcome. */
export function erasedExecution(execution: Execution): Execution {
  return {
    ...execution,
    parameters: {},
    result: null,
    failureReason: null,
    actionHash: null,
    onBehalfOf: null,
    principal: null,
    run: null,
    resourceKey: null,
    instead: null,
    resourceId: '',
    erased: true,
  };
}

/** Returns what an erased decision keeps: who proposed and reviewed it and when, and the outcome. */
export function erasedDecision(decision: Decision): Decision {
  const reviews = decision.reviews.map(withoutWords);
  const repeated = { actionHash: null, onBehalfOf: null, run: null };
  const change = decision.change && { ...decision.change, path: '', bodyHash: '', summary: '' };
  return { ...decision, ...repeated, title: '', description: '', context: {}, reviews, change, erased: true };
}

function withoutWords({ approverId, verdict, createdAt, groups, delegationId }: Review): Review {
  const place = delegationId === undefined ? {} : { delegationId };
  return { approverId, verdict, comment: null, createdAt, ...(groups !== undefined && { groups }), ...place };
}

/**
 * Returns what an erased grant keeps: for which kind of action it was, how long and how often. It covers nothing any
 * more.
 */
export function erasedGrant(grant: Grant): Grant {
  return { ...grant, resourceId: '', resources: null, parametersHash: null, onBehalfOf: null };
}

/**
 * Refuses to erase young records, because logs must be retained for a while. @param at time of the record's last entry,
 * in ISO 8601
 */
export function requireAge(what: string, at: string, retainAtLeast: number, now: string): void {
  const from = new Date(Date.parse(at) + retainAtLeast).toISOString();
  if (from > now) throw conflict(`${what} can be erased from ${from} on: RETAIN_AT_LEAST keeps it until then.`);
}

/** Makes the refusal of an erasure while an action may still follow. */
export function stillOpen(what: string, state: string): DomainError {
  return conflict(`${what} is ${state}; only what is settled can be erased.`);
}
