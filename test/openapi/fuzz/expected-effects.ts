import type { DocumentedOperation } from '../../support/requests/api-document';
import type { Answer } from '../../support/application/send';
import type { SentRequest } from './fuzzed-requests';

/** The answer of `/stats`. */
type Statistics = Record<'entities' | 'claims' | 'agents' | 'decisions' | 'policies' | 'provenanceEntries', number>;

/** The minimum and maximum number of entries that an accepted request may add to the chain. */
type Entries = readonly [least: number, most: number];

const NONE: Entries = [0, 0];
/** A refusal by a rule leaves an entry. */
const ONE: Entries = [1, 1];
const ENTRIES: Readonly<Record<string, Entries>> = {
  entities_create: ONE,
  entities_update: [0, 1],
  entities_remove: ONE,
  claims_add: ONE,
  claims_remove: ONE,
  agents_create: ONE,
  agents_update: [0, 1],
  agents_suspend: [0, 1],
  agents_resume: [0, 1],
  access_review: [0, 1],
  agents_setEmail: [0, 1],
  agents_removeEmail: [0, 1],
  // No entry if the version is in force with the same content.
  policies_create: [0, 2],
  policies_activate: [0, 2],
  policies_deactivate: [0, 1],
  policySets_plan: NONE,
  policySets_apply: [0, Infinity],
  evaluate_action: NONE,
  authzen_evaluation: NONE,
  authzen_evaluations: NONE,
  // With a handler a second entry follows; if an approval is required, that of the decision. A repeated request adds
  // none.
  execute_action: [0, 3],
  decisions_propose: ONE,
  decisions_approve: [1, 4],
  // For each of at most 50 decisions as many as for one.
  decisions_approveTogether: [1, 200],
  decisions_reject: [1, 4],
  decisions_cancel: [1, 2],
  executions_report: ONE,
  executions_reportEach: [0, 100],
  delegations_create: ONE,
  delegations_end: [0, 1],
  grants_revoke: ONE,
  approvals_resume: [1, 2],
  approvals_cancelRun: [0, 2000],
  approvals_cancel: [1, 2],
  stops_create: [0, 1],
  stops_lift: [0, 1],
  webhooks_create: ONE,
  webhooks_update: [0, 1],
  webhooks_remove: ONE,
  webhooks_rotateSecret: ONE,
  webhooks_test: NONE,
  webhooks_replay: [0, 1],
  webhooks_resume: [0, 1],
  provenance_verify: NONE,
};

/** The counts of `/stats` that the answers so far imply. */
export class ExpectedEffects {
  private readonly claimsOfEntity = new Map<string, number>();
  private readonly counts: Statistics;

  /** `start` is the answer of `/stats` before the first request; there must be no claims. */
  constructor(start: Statistics) {
    this.counts = { ...start };
  }

  get statistics(): Statistics {
    return this.counts;
  }

  /** Takes an answer and the length of the chain after it; returns the fault in that length, if there is one. */
  note({ id, method }: DocumentedOperation, sent: SentRequest, answer: Answer, entriesNow: number): string[] {
    const isReplayed = answer.headers.get('idempotent-replayed') === 'true';
    const [least, most] = isReplayed ? NONE : allowed(id, method, answer.status);
    const added = entriesNow - this.counts.provenanceEntries;
    this.counts.provenanceEntries = entriesNow;
    if (!isReplayed && answer.status < 300) this.count(id, sent, answer);
    return added >= least && added <= most ? [] : [`${id} ${answer.status} added ${added} entries to the chain`];
  }

  private count(id: string, { path }: SentRequest, { status, body }: Answer): void {
    if (id === 'entities_create') this.counts.entities += 1;
    else if (id === 'agents_create') this.counts.agents += 1;
    else if (id === 'policies_create' && status === 201) this.counts.policies += 1;
    else if (id === 'decisions_propose') this.counts.decisions += 1;
    else if (id === 'execute_action' && status === 202) this.counts.decisions += 1;
    else if (id === 'claims_add') this.countClaim(String(body.entityId), 1);
    else if (id === 'claims_remove') this.countClaim(path['id'] ?? '', -1);
    else if (id === 'entities_remove') this.removeEntity(path['id'] ?? '');
  }

  private countClaim(entityId: string, change: number): void {
    this.counts.claims += change;
    this.claimsOfEntity.set(entityId, (this.claimsOfEntity.get(entityId) ?? 0) + change);
  }

  private removeEntity(entityId: string): void {
    this.counts.entities -= 1;
    this.countClaim(entityId, -(this.claimsOfEntity.get(entityId) ?? 0));
  }
}

function allowed(id: string, method: string, status: number): Entries {
  // Refusals of a caller are recorded once a second.
  if (status === 403) return /^(?:access|delegations|passkeys|forwardAuth)_/.test(id) ? [0, 1] : ONE;
  if (status >= 300 || method === 'GET') return NONE;
  const entries = ENTRIES[id];
  if (entries === undefined) throw new Error(`Say in ENTRIES how many entries ${id} adds to the chain.`);
  return entries;
}
