import type { AuditEntry } from '../../api/types.js';
import { showInvisible, revealedProse, words } from '../../ui/format.js';

/** The actions that the service records, in words for people. */
export const SENTENCES: Readonly<Record<string, string>> = {
  'execution.approval_requested': 'Requested, and sent for approval',
  'execution.authorized': 'Requested, and allowed',
  'execution.denied': 'Requested, and denied',
  'execution.approved': 'Cleared to continue',
  'execution.resumed': 'Continued with the approval',
  'execution.resume_denied': 'Tried to continue, and was denied',
  'execution.completed': 'Reported the result',
  'execution.rejected': 'Request rejected',
  'execution.expired': 'Request expired',
  'execution.cancelled': 'Request cancelled',
  'execution.interrupted': 'Interrupted while it ran',
  'execution.erased': 'Execution erased',
  'decision.proposed': 'Decision proposed',
  'decision.reviewed': 'Reviewed, and not settled yet',
  'decision.approved': 'Gave the final approval',
  'decision.rejected': 'Rejected',
  'decision.expired': 'Time ran out',
  'decision.escalated': 'Escalated to further people',
  'decision.cancelled': 'Decision cancelled',
  'decision.approval_denied': 'Tried to approve, and was denied',
  'decision.rejection_denied': 'Tried to reject, and was denied',
  'decision.proposal_denied': 'Tried to propose, and was denied',
  'decision.change_made': 'Change made',
  'decision.erased': 'Decision erased',
  'grant.created': 'Grant given',
  'grant.used_up': 'Grant used up',
  'grant.expired': 'Grant expired',
  'grant.revoked': 'Grant revoked',
  'grant.erased': 'Grant erased',
  'delegation.created': 'Delegation made',
  'delegation.started': 'Delegation began',
  'delegation.ended': 'Delegation ended',
  'delegation.expired': 'Delegation ran out',
  'policy.created': 'Policy created',
  'policy.superseded': 'Policy superseded',
  'policy.activated': 'Policy activated',
  'policy.deactivated': 'Policy deactivated',
  'policy.limit_warned': 'Limit used to 80% or more',
  'stop.created': 'Stopped',
  'stop.lifted': 'Stop lifted',
  'agent.created': 'Agent created',
  'agent.updated': 'Agent updated',
  'agent.suspended': 'Agent suspended',
  'agent.resumed': 'Agent resumed',
  'agent.access_reviewed': 'Reviewed what the agent may do',
  'passkey.registered': 'Passkey registered',
  'passkey.removed': 'Passkey removed',
  'api_key.created': 'Key issued',
  'api_key.revoked': 'Key revoked',
  'api_key.expired': 'Key expired',
  'access.denied': 'Access denied',
  'entity.created': 'Entity created',
  'entity.updated': 'Entity updated',
  'entity.deleted': 'Entity deleted',
  'entity.erased': 'Entity erased',
  'claim.added': 'Claim added',
  'claim.removed': 'Claim removed',
  'webhook.created': 'Webhook created',
  'webhook.updated': 'Webhook updated',
  'webhook.deleted': 'Webhook deleted',
  'webhook.failing': 'Webhook failing',
  'erasure.begun': 'Erased',
  'erasure.completed': 'Erasure completed',
  'ledger.restored': 'Restored database accepted',
};

/** The meaning of an audit entry in words. */
export function sentence({ action, details }: Pick<AuditEntry, 'action' | 'details'>): string {
  if (details === null) return `${actionSentence(action)} (contents erased)`;
  if (action === 'decision.reviewed') return details['verdict'] === 'approve' ? 'Approved' : 'Rejected';
  return actionSentence(action);
}

/** The reason of an entry: one of the service's own, such as `policy_denied`, or what somebody wrote. */
export function reasonText(reason: string): string {
  return /^[a-z_]+$/.test(reason) ? words(reason) : revealedProse(reason);
}

function actionSentence(action: string): string {
  const text = SENTENCES[action];
  if (text !== undefined) return text;
  const [kind = '', verb = ''] = action.split('.');
  return `${words(kind).replace(/^./, (first) => first.toUpperCase())} ${words(verb)}`.trim();
}

/**
 * The subject of an entry, revealed, such as `refund on customer/customers/1`, with ids of entities; empty if its link
 * shows it.
 */
export function aboutText(
  { action, agentId, entityId, details }: Pick<AuditEntry, 'action' | 'agentId' | 'entityId' | 'details'>,
  nameOf: (id: string) => string,
): string {
  const { action: requestedAction, resourceType, resourceId, policies } = details ?? {};
  const isComplete = [requestedAction, resourceType, resourceId].every((part) => typeof part === 'string');
  if (isComplete) return showInvisible(`${String(requestedAction)} on ${String(resourceType)}/${String(resourceId)}`);
  if (action.startsWith('policy.')) return policyText(policies);
  if (/^(?:api_key|passkey)\./.test(action)) return agentId === null ? '' : `for ${nameOf(agentId)}`;
  return showInvisible(entityId ?? '');
}

function policyText(policies: unknown): string {
  const [policy] = (Array.isArray(policies) ? policies : []) as readonly Readonly<Record<string, unknown>>[];
  return policy === undefined ? '' : showInvisible(`${String(policy['name'])} ${String(policy['version'])}`);
}

/**
 * Actions of entries whose `agentId` names the agent that acted. In other entries it names the agent whose request was
 * decided, or that was changed: an approval is never an act of the agent that requested it.
 */
const BY_THEIR_AGENT: ReadonlySet<string> = new Set([
  'execution.approval_requested',
  'execution.authorized',
  'execution.denied',
  'execution.resumed',
  'execution.resume_denied',
  'execution.completed',
  'decision.proposed',
  'decision.proposal_denied',
  'decision.change_made',
  'decision.reviewed',
  'decision.approved',
  'decision.rejected',
  'decision.approval_denied',
  'decision.rejection_denied',
  'access.denied',
  'passkey.registered',
  'stop.created',
  'stop.lifted',
]);

/** Names who caused an entry; for the approval or rejection of an execution, the reviewer. */
export function actorText(
  { action, actor, agentId, details }: Pick<AuditEntry, 'action' | 'actor' | 'agentId' | 'details'>,
  nameOf: (id: string) => string,
): string {
  const { reviewerId } = details ?? {};
  const doer = typeof reviewerId === 'string' ? reviewerId : BY_THEIR_AGENT.has(action) ? agentId : null;
  if (actor.type === 'system') return 'the service';
  if (actor.type === 'agent') return nameOf(actor.id);
  // An issuer has no fragment, but a subject may contain any character.
  if (actor.type === 'token') return showInvisible(actor.id.slice(actor.id.indexOf('#') + 1));
  if (actor.type === 'slack') return doer === null ? showInvisible(actor.id) : `${nameOf(doer)} (Slack)`;
  if (actor.id === 'env') return doer === null ? 'the operator' : `${nameOf(doer)} (operator's key)`;
  const key = `key ${actor.id.slice(-6)}`;
  // A key that is bound to no agent may name any.
  return doer === null ? key : `${nameOf(doer)} (${key})`;
}

/** The screen that shows the subject of an entry; null if there is none. */
export function subjectLink({ subjectType, subjectId }: Pick<AuditEntry, 'subjectType' | 'subjectId'>): string | null {
  const screens: Readonly<Record<string, string>> = {
    decision: 'decisions',
    execution: 'executions',
    policy: 'policies',
    agent: 'agents',
    entity: 'entities',
    grant: 'grants',
    webhook: 'webhooks',
  };
  const screen = screens[subjectType];
  return screen === undefined ? null : `${screen}/${subjectId}`;
}
