import { withStandIns } from '../../typescript/src/replaced-values.js';
import { type AgentNames, agentNames } from './agent-names.js';
import { allowanceText, givenText } from './grant-text.js';
import { groupText } from './group-text.js';
import { counted, duration, plain, printLine, shownJson, styled } from './output.js';
import type { Execution, GovernanceClient, Schemas } from '../../typescript/src/index.js';
import { TOO_FEW_APPROVERS } from '../../typescript/src/guard-errors.js';
import { printableWords } from './printable-text.js';
import { limitTexts } from '../../typescript/src/limit-text.js';

export type Decision = Schemas['DecisionResponse'];

/** Maximum number of characters of parameters in a list. */
const MAX_PARAMETERS_LENGTH = 200;
/** Maximum time in milliseconds that a text waits for its additional facts. */
const MAX_LOOKUP_MS = 5_000;
const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** The facts that a reviewer has to see before a review: the execution and its requester, if the key may read them. */
export interface Case {
  readonly decision: Decision;
  /** Null if the decision is about no execution, or the key may not see it. */
  readonly execution: Execution | null;
  /** Names of the requester and the reviewers. */
  readonly names: AgentNames;
  /** Each policy that requires the approval, with its description. */
  readonly reasons: readonly string[];
  /** Full limits of policies that would otherwise allow the action. */
  readonly limits: readonly string[];
  /** The body of a change that is open; null for anything else, and if the key may not see it. */
  readonly body: object | null;
}

export async function caseOf(governance: GovernanceClient, id: string): Promise<Case> {
  const sees = await seenBy(governance);
  const decision = await governance.get('/api/v1/decisions/{id}', { path: { id }, query: {} });
  const { executionId, proposedBy, reviews } = decision;
  const execution =
    executionId === null || !sees('read', 'execute', 'review')
      ? null
      : await governance.get('/api/v1/executions/{id}', { path: { id: executionId }, query: {} });
  const isOpenChange = decision.change !== undefined && decision.type === 'change' && decision.status === 'proposed';
  const body =
    isOpenChange && sees('review')
      ? (await governance.get('/api/v1/decisions/{id}/change', { path: { id } })).body
      : null;
  if (!sees('read')) {
    const reasons = (execution?.policies ?? []).map((policy) => reasonText(policy, ''));
    return { decision, execution, names: namesIn(execution), reasons, limits: [], body };
  }
  const people = [proposedBy, ...reviews.map(({ approverId }) => approverId), ...principalIds(decision)];
  const nameLookup = agentNames(governance, people);
  const reasons = (execution?.policies ?? []).map(async (policy) => {
    const { description } = await governance.get('/api/v1/policies/{id}', { path: { id: policy.id }, query: {} });
    return reasonText(policy, description);
  });
  const limits = execution === null || decision.status !== 'proposed' ? [] : await reachedLimits(governance, execution);
  return { decision, execution, names: await nameLookup, reasons: await Promise.all(reasons), limits, body };
}

/** Returns the id of the registered person on whose behalf a decision is; empty if there is none. */
export function principalIds(decision: Decision): string[] {
  const subject = decision.onBehalfOf?.subject ?? '';
  return subject.startsWith('agent:') ? [subject.slice('agent:'.length)] : [];
}

/** Returns the name that the execution holds, for a key that may not read agents. */
export function namesIn(execution: Execution | null): AgentNames {
  return new Map(execution === null ? [] : [[execution.agentId, execution.agentName]]);
}

/** Returns texts about full limits; none if the key may not name the principal. */
async function reachedLimits(governance: GovernanceClient, execution: Execution): Promise<string[]> {
  const { agentId: agent, action, resourceType, resourceId, parameters, run } = execution;
  // The type from the API document lacks null.
  const onBehalfOf: Execution['onBehalfOf'] | null = execution.onBehalfOf;
  if (onBehalfOf !== null && !(await mayNamePrincipal(governance, agent))) return [];
  const request = { agent, action, resourceType, resourceId, run, ...(onBehalfOf && { onBehalfOf }) };
  const body = { ...request, parameters: withStandIns(parameters), explain: true };
  const answer = await governance.post('/api/v1/policies/evaluate', { body });
  return 'results' in answer || answer.explanation === undefined ? [] : limitTexts(answer.explanation);
}

/** True if the key may check the agent's requests for any principal. */
async function mayNamePrincipal(governance: GovernanceClient, requesterId: string): Promise<boolean> {
  const { agentId, scopes } = await governance.get('/api/v1/me');
  return agentId === null || (agentId !== requesterId && scopes.includes('review') && scopes.includes('read'));
}

/**
 * Returns what an execution waits for, for example "1 of role:finance"; null if it cannot be read, as only a text
 * depends on it.
 */
async function missingApprovals(governance: GovernanceClient, execution: Execution): Promise<string | null> {
  const { decisionId } = execution;
  const signal = AbortSignal.timeout(MAX_LOOKUP_MS);
  try {
    const sees = await seenBy(governance, signal);
    if (decisionId === null) return null;
    if (sees('read', 'propose', 'review'))
      return needs(await governance.get('/api/v1/decisions/{id}', { path: { id: decisionId }, query: {}, signal }));
    return sees('execute') ? await requiredApprovals(governance, execution, signal) : null;
  } catch {
    return null;
  }
}

/** Finds the approvals by the policies: a key that may only execute does not see decisions. */
async function requiredApprovals(
  governance: GovernanceClient,
  { agentId: agent, action, resourceType, resourceId, parameters, run, ...execution }: Execution,
  signal: AbortSignal,
): Promise<string | null> {
  // The type from the API document lacks null.
  const onBehalfOf: Execution['onBehalfOf'] | null = execution.onBehalfOf;
  const request = { agent, action, resourceType, resourceId, run, ...(onBehalfOf && { onBehalfOf }) };
  const body = { ...request, parameters: withStandIns(parameters) };
  const answer = await governance.post('/api/v1/policies/evaluate', { body, signal });
  if ('results' in answer || answer.approval === null) return null;
  return answer.approval.approvers.map(groupText).join(' and ');
}

/** Returns a check for scopes of the key. Refused requests are recorded by the service, so they are not sent at all. */
export async function seenBy(
  governance: GovernanceClient,
  signal?: AbortSignal,
): Promise<(...scopesToCheck: readonly string[]) => boolean> {
  const { scopes } = await governance.get('/api/v1/me', signal === undefined ? {} : { signal });
  return (...scopesToCheck) => scopes.some((scope) => scope === 'admin' || scopesToCheck.includes(scope));
}

/** Maps ids of decisions to their waiting executions, as far as one list of the service shows them. */
export async function executionsOf(
  governance: GovernanceClient,
  decisions: readonly Decision[],
): Promise<ReadonlyMap<string, Execution>> {
  const decisionIds = new Set(decisions.flatMap(({ id, executionId }) => (executionId === null ? [] : [id])));
  const executions = new Map<string, Execution>();
  if (decisionIds.size === 0) return executions;
  const query = { outcome: 'pending_approval', limit: 1_000 } as const;
  for await (const execution of governance.pages('/api/v1/executions', { query })) {
    if (execution.decisionId !== null && decisionIds.delete(execution.decisionId))
      executions.set(execution.decisionId, execution);
    if (decisionIds.size === 0) break;
  }
  return executions;
}

/** Prints all facts of a case for its reviewer. */
export function printCase({ decision, execution, names, reasons, limits, body }: Case): void {
  const { id, status, riskLevel, title, type, description, context, reviews, erased, grant, proposedBy } = decision;
  printLine(`${styled('bold', plain(id))} is ${plain(status)}: ${riskLevel} risk, ${times(decision)}.`);
  printPart(
    'requested by',
    proposedBy === null ? 'a key that is bound to nobody' : (names.get(proposedBy) ?? proposedBy),
  );
  if (decision.onBehalfOf) printPart('on behalf of', principalText(decision.onBehalfOf, names));
  if (erased === true) {
    printPart('erased', 'what it was about, and what its reviewers wrote');
    if (execution !== null) printPart('action', execution.action);
  } else if (execution === null) {
    printPart('what', title);
    printPart('type', type);
    if (decision.change) printChange(decision, decision.change, body);
    if (description !== '') printPart('in words', description);
    if (!decision.change) printJsonPart('context', context);
  } else {
    printPart('action', execution.action);
    printPart('resource', `${execution.resourceType}/${execution.resourceId}`);
    printJsonPart('parameters', execution.parameters);
  }
  for (const reason of reasons) printPart('because of', reason);
  for (const limit of limits) printPart('used up', limit);
  for (const { approverId, verdict, comment, grant, signature, delegationId } of reviews) {
    printPart(
      verdict === 'approve' ? 'approved by' : 'rejected by',
      `${reviewerText(approverId, names)}${signature ? `, signed with ${signature.passkeyId}` : ''}${delegationId === undefined ? '' : `, by the delegation ${delegationId}`}${comment === null ? '' : `: ${comment}`}`,
    );
    if (grant) printPart('and gave', givenText(grant));
  }
  if (execution?.instead) printJsonPart('instead', execution.instead.parameters);
  if (grant && status === 'proposed') printPart('may be given', allowanceText(grant));
  if (status === 'proposed') printPart('still needs', needs(decision));
}

/** Prints the request that is the change, whole. */
function printChange(
  { type, status }: Decision,
  { method, path, bodyHash, madeAt }: NonNullable<Decision['change']>,
  body: object | null,
): void {
  printPart('request', `${method} ${path}`);
  if (body !== null) printJsonPart('body', body);
  else if (type === 'change' && status === 'proposed') printPart('body', 'is shown to a key with the scope review');
  printPart('fingerprint', bodyHash);
  printPart('made', madeAt ?? 'not yet');
}

/** Prints a few lines about a decision in a list. */
export function printBrief(decision: Decision, execution: Execution | undefined, names: AgentNames): void {
  const { id, riskLevel, title, grant, reviews, inPlaceOf } = decision;
  const colour = riskLevel === 'high' || riskLevel === 'critical' ? 'red' : 'yellow';
  printLine(`${styled('bold', plain(id))}  ${styled(colour, riskLevel)}  ${times(decision)}`);
  printLine(
    `  ${printableWords(execution === undefined ? title : `${executionText(execution)}, because of ${policiesText(execution)}`)}`,
  );
  if (execution !== undefined) printLine(`  with ${printableWords(cutJson(execution.parameters))}`);
  if (decision.onBehalfOf) printLine(`  on behalf of ${printableWords(principalText(decision.onBehalfOf, names))}`);
  if (decision.run) printLine(`  in the run ${printableWords(decision.run)}`);
  printLine(plain(`  needs ${needs(decision)}`));
  if (inPlaceOf) {
    const people = inPlaceOf.map((agentId) => reviewerText(agentId, names)).join(' or ');
    printLine(printableWords(`  you can approve it in the place of ${people}: gov approve ${id} --delegation <id>`));
  }
  if (!grant) return;
  printLine(plain(`  may be given ${allowanceText(grant)}`));
  for (const review of reviews)
    if (review.grant) printLine(plain(`  ${reviewerText(review.approverId, names)} gave ${givenText(review.grant)}`));
}

/** Returns the principal, for example `ann (agent:agt_…)`, with the roles that the caller vouched for. */
function principalText({ subject, roles = [] }: NonNullable<Decision['onBehalfOf']>, names: AgentNames): string {
  const name = names.get(subject.replace(/^agent:/, ''));
  return `${name === undefined ? subject : `${name} (${subject})`}${roles.length === 0 ? '' : `, with the roles ${roles.join(', ')}`}`;
}

function reviewerText(id: string | null, names: AgentNames): string {
  return id === null ? 'a key' : (names.get(id) ?? id);
}

/** Returns the request, for example `bot: refund on payment/orders/9`. */
export function executionText({ agentName, action, resourceType, resourceId }: Execution): string {
  return `${agentName}: ${action} on ${resourceType}/${resourceId}`;
}

/** States whether there are enough approvers, as far as the service has said. */
export interface Feasibility {
  readonly isFeasible: boolean;
}

/** Returns the request with its parameters, the reason why it waits, and the missing approvals, as one line. */
export async function waitingText(
  governance: GovernanceClient,
  execution: Execution,
  { isFeasible }: Feasibility,
): Promise<string> {
  const approvalsText = await missingApprovals(governance, execution);
  const needed = approvalsText === null ? '' : ` It still needs ${approvalsText}.`;
  const sentence = isFeasible ? needed : `${needed} ${TOO_FEW_APPROVERS}`;
  return printableWords(
    `${executionText(execution)} with ${cutJson(execution.parameters)}, because of ${policiesText(execution)}.${sentence}`,
  );
}

/** Returns the names and versions of the policies that decided. */
export function policiesText({ policies }: Pick<Execution, 'policies'>): string {
  return policies.map(({ name, version }) => `${name} ${version}`).join(' and ');
}

/** Returns JSON as one line; the text shows where it is cut. */
export function cutJson(value: unknown): string {
  const text = shownJson(value);
  return text.length > MAX_PARAMETERS_LENGTH
    ? `${text.slice(0, MAX_PARAMETERS_LENGTH)}… (${counted(text.length - MAX_PARAMETERS_LENGTH, 'character')} cut)`
    : text;
}

/** Returns the missing approvals, for example "1 of role:security and 2 of role:finance". */
export function needs({ approvers, requiredApprovals, reviews }: Decision): string {
  if (approvers === null) {
    const givenApprovals = reviews.filter(({ verdict }) => verdict === 'approve').length;
    return `${Math.max(0, requiredApprovals - givenApprovals)} of anybody`;
  }
  const open = approvers.filter(({ approvals, given: givenApprovals }) => givenApprovals < approvals);
  const texts = (open.length === 0 ? approvers : open).map((group) =>
    groupText({ ...group, approvals: Math.max(1, group.approvals - group.given) }),
  );
  // A review counts in each group it fits, so all may look full while one person fills two of them.
  const people = open.length === 0 ? `, by ${NUMBERS[requiredApprovals] ?? requiredApprovals} different people` : '';
  return `${texts.join(' and ')}${people}`;
}

function times({ createdAt, expiresAt, status }: Decision): string {
  const now = Date.now();
  const left = expiresAt === null || status !== 'proposed' ? '' : `, ${duration(Date.parse(expiresAt) - now)} left`;
  return `requested ${duration(now - Date.parse(createdAt))} ago${left}`;
}

function printPart(name: string, text: string): void {
  printLine(`  ${name.padEnd(11)}  ${printableWords(text)}`);
}

function printJsonPart(name: string, value: unknown): void {
  const lines = shownJson(value, 2).split('\n');
  const printable = lines.map((line) => line.replace(/\S.*/, printableWords));
  printLine(`  ${name.padEnd(11)}  ${printable.join(`\n${' '.repeat(15)}`)}`);
}

function reasonText({ name, version }: Execution['policies'][number], description: string): string {
  return `the policy ${name} ${version}${description === '' ? '' : `: ${description}`}`;
}
