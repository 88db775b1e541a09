import { type AgentNames, agentNames } from './agent-names.js';
import { allowanceText, givenText } from './grant-text.js';
import { groupText } from './group-text.js';
import { counted, duration, plain, printLine, shownJson, styled } from './output.js';
import type { Execution, GovernanceClient, Schemas } from '../../typescript/src/index.js';
import { printableWords } from './printable-text.js';
import { limitTexts } from '../../typescript/src/limit-text.js';

export type Decision = Schemas['DecisionResponse'];

/** Characters of parameters in a list. */
const LONGEST_PARAMETERS = 200;
/** Milliseconds for which a text waits for what it would say besides. */
const LONGEST_LOOK = 5_000;
const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** What a reviewer has to see before a decision: its execution and who asked, as far as the key may read them. */
export interface Case {
  readonly decision: Decision;
  /** Null for a decision about no execution, and for one that the key may not see. */
  readonly execution: Execution | null;
  /** Of who asked and who reviewed. */
  readonly names: AgentNames;
  /** Each policy that requires the approval, with its description. */
  readonly reasons: readonly string[];
  /** Limits that are used up, without which a policy would allow it alone. */
  readonly limits: readonly string[];
}

export async function caseOf(governance: GovernanceClient, id: string): Promise<Case> {
  const sees = await seenBy(governance);
  const decision = await governance.get('/api/v1/decisions/{id}', { path: { id }, query: {} });
  const { executionId, proposedBy, reviews } = decision;
  const execution =
    executionId === null || !sees('read', 'execute', 'review')
      ? null
      : await governance.get('/api/v1/executions/{id}', { path: { id: executionId }, query: {} });
  if (!sees('read')) {
    const reasons = (execution?.policies ?? []).map((policy) => reasonText(policy, ''));
    return { decision, execution, names: namesIn(execution), reasons, limits: [] };
  }
  const people = [proposedBy, ...reviews.map(({ approverId }) => approverId), ...principalIds(decision)];
  const naming = agentNames(governance, people);
  const reasons = (execution?.policies ?? []).map(async (policy) => {
    const { description } = await governance.get('/api/v1/policies/{id}', { path: { id: policy.id }, query: {} });
    return reasonText(policy, description);
  });
  const limits = execution === null || decision.status !== 'proposed' ? [] : await reachedLimits(governance, execution);
  return { decision, execution, names: await naming, reasons: await Promise.all(reasons), limits };
}

/** The id of the registered person on whose behalf a decision is; empty for anybody else. */
export function principalIds(decision: Decision): string[] {
  const subject = decision.onBehalfOf?.subject ?? '';
  return subject.startsWith('agent:') ? [subject.slice('agent:'.length)] : [];
}

/** The name that the execution has, for a key that may not read agents. */
export function namesIn(execution: Execution | null): AgentNames {
  return new Map(execution === null ? [] : [[execution.agentId, execution.agentName]]);
}

/** None for a principal whom the key may not name. */
async function reachedLimits(governance: GovernanceClient, execution: Execution): Promise<string[]> {
  const { agentId: agent, action, resourceType, resourceId, parameters, run } = execution;
  // In the API document it is never null.
  const onBehalfOf: Execution['onBehalfOf'] | null = execution.onBehalfOf;
  if (onBehalfOf !== null && !(await mayNamePrincipal(governance, agent))) return [];
  const asked = { agent, action, resourceType, resourceId, parameters, run, ...(onBehalfOf && { onBehalfOf }) };
  const body = { ...asked, explain: true };
  const answer = await governance.post('/api/v1/policies/evaluate', { body });
  return 'results' in answer || answer.explanation === undefined ? [] : limitTexts(answer.explanation);
}

/** Whether the key may ask on behalf of anybody for an agent. */
async function mayNamePrincipal(governance: GovernanceClient, asking: string): Promise<boolean> {
  const { agentId, scopes } = await governance.get('/api/v1/me');
  return agentId === null || (agentId !== asking && scopes.includes('review') && scopes.includes('read'));
}

/** What an execution waits for, such as "1 of role:finance"; null where nobody says so: nothing but a text depends on it. */
async function missingApprovals(governance: GovernanceClient, execution: Execution): Promise<string | null> {
  const { decisionId } = execution;
  const signal = AbortSignal.timeout(LONGEST_LOOK);
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

/** By the policies: a key that may only execute does not see decisions. */
async function requiredApprovals(
  governance: GovernanceClient,
  { agentId: agent, action, resourceType, resourceId, parameters, run, ...execution }: Execution,
  signal: AbortSignal,
): Promise<string | null> {
  // In the API document it is never null.
  const onBehalfOf: Execution['onBehalfOf'] | null = execution.onBehalfOf;
  const body = { agent, action, resourceType, resourceId, parameters, run, ...(onBehalfOf && { onBehalfOf }) };
  const answer = await governance.post('/api/v1/policies/evaluate', { body, signal });
  if ('results' in answer || answer.approval === null) return null;
  return answer.approval.approvers.map(groupText).join(' and ');
}

/** Whether the key has one of the scopes: what it may not see is not asked for, as the service keeps such refusals on record. */
export async function seenBy(
  governance: GovernanceClient,
  signal?: AbortSignal,
): Promise<(...wanted: readonly string[]) => boolean> {
  const { scopes } = await governance.get('/api/v1/me', signal === undefined ? {} : { signal });
  return (...wanted) => scopes.some((scope) => scope === 'admin' || wanted.includes(scope));
}

/** The waiting executions of decisions, in one list of the service and as far as that shows them, by the ids of the decisions. */
export async function executionsOf(
  governance: GovernanceClient,
  decisions: readonly Decision[],
): Promise<ReadonlyMap<string, Execution>> {
  const wanted = new Set(decisions.flatMap(({ id, executionId }) => (executionId === null ? [] : [id])));
  const found = new Map<string, Execution>();
  if (wanted.size === 0) return found;
  const query = { outcome: 'pending_approval', limit: 1_000 } as const;
  for await (const execution of governance.pages('/api/v1/executions', { query })) {
    if (execution.decisionId !== null && wanted.delete(execution.decisionId))
      found.set(execution.decisionId, execution);
    if (wanted.size === 0) break;
  }
  return found;
}

/** Whole, for one who is about to decide. */
export function printCase({ decision, execution, names, reasons, limits }: Case): void {
  const { id, status, riskLevel, title, type, description, context, reviews, erased, grant, proposedBy } = decision;
  printLine(`${styled('bold', plain(id))} is ${plain(status)}: ${riskLevel} risk, ${times(decision)}.`);
  printPart('asked by', names.get(proposedBy) ?? proposedBy);
  if (decision.onBehalfOf) printPart('on behalf of', principalText(decision.onBehalfOf, names));
  if (erased === true) {
    printPart('erased', 'what it was about, and what its reviewers wrote');
    if (execution !== null) printPart('action', execution.action);
  } else if (execution === null) {
    printPart('what', title);
    printPart('type', type);
    if (description !== '') printPart('in words', description);
    printJsonPart('context', context);
  } else {
    printPart('action', execution.action);
    printPart('resource', `${execution.resourceType}/${execution.resourceId}`);
    printJsonPart('parameters', execution.parameters);
  }
  for (const reason of reasons) printPart('because of', reason);
  for (const limit of limits) printPart('used up', limit);
  for (const { approverId, verdict, comment, grant, signature } of reviews) {
    printPart(
      verdict === 'approve' ? 'approved by' : 'rejected by',
      `${reviewerText(approverId, names)}${signature ? `, signed with ${signature.passkeyId}` : ''}${comment === null ? '' : `: ${comment}`}`,
    );
    if (grant) printPart('and gave', givenText(grant));
  }
  if (execution?.instead) printJsonPart('instead', execution.instead.parameters);
  if (grant && status === 'proposed') printPart('may be given', allowanceText(grant));
  if (status === 'proposed') printPart('still needs', needs(decision));
}

/** In a list: a few lines. */
export function printBrief(decision: Decision, execution: Execution | undefined, names: AgentNames): void {
  const { id, riskLevel, title, grant, reviews } = decision;
  const colour = riskLevel === 'high' || riskLevel === 'critical' ? 'red' : 'yellow';
  printLine(`${styled('bold', plain(id))}  ${styled(colour, riskLevel)}  ${times(decision)}`);
  printLine(
    `  ${printableWords(execution === undefined ? title : `${askedText(execution)}, because of ${policiesText(execution)}`)}`,
  );
  if (execution !== undefined) printLine(`  with ${printableWords(cutJson(execution.parameters))}`);
  if (decision.onBehalfOf) printLine(`  on behalf of ${printableWords(principalText(decision.onBehalfOf, names))}`);
  if (decision.run) printLine(`  in the run ${printableWords(decision.run)}`);
  printLine(plain(`  needs ${needs(decision)}`));
  if (!grant) return;
  printLine(plain(`  may be given ${allowanceText(grant)}`));
  for (const review of reviews)
    if (review.grant) printLine(plain(`  ${reviewerText(review.approverId, names)} gave ${givenText(review.grant)}`));
}

/** Such as `ann (agent:agt_…)`, with the roles that the caller vouched for. */
function principalText({ subject, roles = [] }: NonNullable<Decision['onBehalfOf']>, names: AgentNames): string {
  const name = names.get(subject.replace(/^agent:/, ''));
  return `${name === undefined ? subject : `${name} (${subject})`}${roles.length === 0 ? '' : `, with the roles ${roles.join(', ')}`}`;
}

function reviewerText(id: string | null, names: AgentNames): string {
  return id === null ? 'a key' : (names.get(id) ?? id);
}

/** Such as `bot: refund on payment/orders/9`. */
export function askedText({ agentName, action, resourceType, resourceId }: Execution): string {
  return `${agentName}: ${action} on ${resourceType}/${resourceId}`;
}

/** The same with its parameters, why it waits, and for whom, on a line. */
export async function waitingText(governance: GovernanceClient, execution: Execution): Promise<string> {
  const missing = await missingApprovals(governance, execution);
  const whom = missing === null ? '' : ` It still needs ${missing}.`;
  return printableWords(
    `${askedText(execution)} with ${cutJson(execution.parameters)}, because of ${policiesText(execution)}.${whom}`,
  );
}

/** The policies that decided. */
export function policiesText({ policies }: Pick<Execution, 'policies'>): string {
  return policies.map(({ name, version }) => `${name} ${version}`).join(' and ');
}

/** JSON as one line that says where it is cut. */
export function cutJson(value: unknown): string {
  const text = shownJson(value);
  return text.length > LONGEST_PARAMETERS
    ? `${text.slice(0, LONGEST_PARAMETERS)}… (${counted(text.length - LONGEST_PARAMETERS, 'character')} cut)`
    : text;
}

/** What is missing: "1 of role:security and 2 of role:finance". */
export function needs({ approvers, requiredApprovals, reviews }: Decision): string {
  if (approvers === null) {
    const given = reviews.filter(({ verdict }) => verdict === 'approve').length;
    return `${Math.max(0, requiredApprovals - given)} of anybody`;
  }
  const open = approvers.filter(({ approvals, given }) => given < approvals);
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
  return `asked ${duration(now - Date.parse(createdAt))} ago${left}`;
}

function printPart(name: string, text: string): void {
  printLine(`  ${name.padEnd(11)}  ${printableWords(text)}`);
}

function printJsonPart(name: string, value: unknown): void {
  const lines = shownJson(value, 2).split('\n');
  const shown = lines.map((line) => line.replace(/\S.*/, printableWords));
  printLine(`  ${name.padEnd(11)}  ${shown.join(`\n${' '.repeat(15)}`)}`);
}

function reasonText({ name, version }: Execution['policies'][number], description: string): string {
  return `the policy ${name} ${version}${description === '' ? '' : `: ${description}`}`;
}
