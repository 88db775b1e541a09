import type { Command } from 'commander';
import { type AgentNames, agentNames } from '../agent-names.js';
import {
  type Case,
  caseOf,
  type Decision,
  executionsOf,
  namesIn,
  needs,
  policiesText,
  printBrief,
  printCase,
  seenBy,
  principalIds,
} from '../decision-text.js';
import { grantText } from '../grant-text.js';
import { jsonObject } from '../json-option.js';
import { counted, plain, printError, printJson, printLine, styled } from '../output.js';
import { requireConfirmation } from '../question.js';
import { client, settings, SettingsError } from '../settings.js';
import { requireAgent } from '../require-agent.js';
import { listed, wholeNumber } from './list.js';
import { type Execution, type GovernanceClient, GovernanceError } from '../../../typescript/src/index.js';

type Verb = 'approve' | 'reject';

interface DecideOptions {
  readonly comment?: string;
  readonly as?: string;
  readonly json?: boolean;
  readonly yes?: boolean;
  /** The terms of a grant that is given with an approval. */
  readonly for?: string;
  readonly uses?: number;
  readonly resources?: string;
  readonly anyParameters?: boolean;
  /** Parameters that the reviewer would approve instead of the rejected ones. */
  readonly instead?: Readonly<Record<string, unknown>>;
  /** The id of a delegation, by which the reviewer takes the place of another person. */
  readonly delegation?: string;
}

/** Maximum number of decisions that one request can approve. */
const MAX_TOGETHER = 50;
const NO_REVIEWER = 'Your key is bound to no agent: name the reviewer with --as.';

/** The commands for reviewers. */
export function addReviewCommands(program: Command): void {
  program
    .command('inbox')
    .description('list the decisions that wait for you, or all open ones if your key is not bound to an agent')
    .option('--as <agent>', 'list those that wait for this agent instead, by id or name')
    .option('--run <run>', 'only those of this run')
    .option('--json', 'the records as JSON')
    .option('--approve', 'show them in full, ask once, and approve all or none')
    .option('--comment <text>', 'why, with --approve')
    .option('--yes', 'with --approve: do not ask; needed without a terminal')
    .action(showInbox);
  for (const verb of ['approve', 'reject'] as const) {
    const command = program
      .command(`${verb} <decision>`)
      .description(`show a decision in full, ask, and ${verb} it`)
      .option('--comment <text>', 'why')
      .option('--as <agent>', 'the reviewer; by default the agent of your key')
      .option('--delegation <id>', 'review in the place of the person who made this delegation')
      .option('--json', 'the decision as JSON')
      .option('--yes', 'neither show it nor ask; needed without a terminal');
    if (verb === 'approve') addGrantOptions(command);
    else command.option('--instead <json>', 'parameters that you would approve instead', jsonObject);
    command.action((id: string, options: DecideOptions) => decide(verb, id, options));
  }
}

function addGrantOptions(command: Command): void {
  command
    .option('--for <duration>', 'give a grant for this long, such as PT1H, if the policies allow one')
    .option('--uses <number>', 'with --for: how often it may be used', wholeNumber)
    .option('--resources <patterns>', 'with --for: for these resources, separated by commas, instead of this one')
    .option('--any-parameters', 'with --for: for any parameters');
}

interface InboxOptions extends DecideOptions {
  readonly run?: string;
  readonly approve?: boolean;
}

async function showInbox(options: InboxOptions): Promise<void> {
  const { as, run, json, approve, comment, yes } = options;
  if (approve !== true && (comment !== undefined || yes === true))
    throw new SettingsError('--comment and --yes belong to --approve: without it, nothing is decided.');
  const governance = client();
  if (as !== undefined) await requireAgent(governance, as);
  const agent = as ?? (await governance.get('/api/v1/me')).agentId;
  const filter = { ...(agent !== null && { awaiting: agent }), ...(run !== undefined && { run }) };
  const { data, total } = await governance.get('/api/v1/decisions', {
    query: { status: 'proposed', ...filter, limit: approve === true ? MAX_TOGETHER : 100 },
  });
  if (approve === true && data.length > 0) {
    await approveTogether(governance, data, { ...options, approverId: agent });
    if (total > data.length) printError(`${total - data.length} more wait: repeat the command for them.`);
    return;
  }
  if (json === true) {
    printJson(data);
    return;
  }
  const executions = await executionsOf(governance, data);
  const names = await namesOf(governance, data);
  for (const decision of data) printBrief(decision, executions.get(decision.id), names);
  if (data.length === 0) printLine('Nothing.');
  else if (total > data.length) printLine(styled('dim', `${data.length} of ${total}.`));
  if (data.filter(({ change }) => !change).length > 1)
    printLine(styled('dim', 'To approve them together: gov inbox --approve; those of one run: --run <run>'));
}

/** Approves decisions by the hashes of what is shown, so that an action that has changed meanwhile is not approved. */
async function approveTogether(
  governance: GovernanceClient,
  all: readonly Decision[],
  { as, approverId, comment, json, yes }: InboxOptions & { readonly approverId: string | null },
): Promise<void> {
  if (approverId === null) throw new SettingsError(NO_REVIEWER);
  if (as !== undefined) await requireReviewer(governance, as);
  const together = all.filter((decision) => reasonAlone(decision) === null);
  for (const decision of all) if (!together.includes(decision)) printError(`${decision.id} ${reasonAlone(decision)}`);
  if (together.length === 0) {
    if (json === true) printJson([]);
    return;
  }
  if (yes !== true) {
    const executions = await executionsOf(governance, together);
    const names = await namesOf(governance, together);
    for (const decision of together) printCase(shownCase(decision, executions.get(decision.id) ?? null, names));
    await requireConfirmation(`Approve ${counted(together.length, 'decision')}?`, 'Nothing was approved');
  }
  const decisions = together.map(({ id, actionHash }) => ({ id, actionHash }));
  const body = { decisions, approverId, ...(comment === undefined ? {} : { comment }) };
  const { data } = await governance.post('/api/v1/decisions/approve', { body });
  if (json === true) printJson(data);
  else for (const decision of data) printDecided(decision);
}

/** Returns why the agent cannot approve the decision together with others; null if it can. */
function reasonAlone(decision: Decision): string | null {
  const { id, change, inPlaceOf } = decision;
  if (isSigned(decision)) return `takes a signature: ${consoleLink(id)}`;
  const command = `gov approve ${id}`;
  if (change) return `is about a change of the rules, which is approved by itself: ${command}`;
  if (inPlaceOf === undefined) return null;
  return `is approved in the place of another person, by itself: ${command} --delegation <id>; gov delegations --received lists the ids`;
}

/**
 * Loads the names of the reviewers, of the people in whose place the agent can approve, and of the proposers of
 * decisions about no execution, if the key may read them.
 */
async function namesOf(governance: GovernanceClient, decisions: readonly Decision[]): Promise<AgentNames> {
  const ids = decisions.flatMap((decision) => [
    ...(decision.executionId === null && decision.proposedBy !== null ? [decision.proposedBy] : []),
    ...decision.reviews.map(({ approverId }) => approverId),
    ...principalIds(decision),
    ...(decision.inPlaceOf ?? []),
  ]);
  if (ids.length === 0 || !(await seenBy(governance))('read')) return new Map();
  return agentNames(governance, ids);
}

function shownCase(decision: Decision, execution: Execution | null, agentNamesById: AgentNames): Case {
  const reasons = execution === null ? [] : [`the policy ${policiesText(execution)}`];
  const names = new Map([...agentNamesById, ...namesIn(execution)]);
  return { decision, execution, names, reasons, limits: [], body: null };
}

async function decide(verb: Verb, id: string, options: DecideOptions): Promise<void> {
  const { comment, as, json, yes, instead, delegation } = options;
  const grant = grantOf(options);
  const governance = client();
  // A rejection needs no reviewer: it may be by the holder of the key.
  if (verb === 'approve' || (as ?? delegation) !== undefined) await requireReviewer(governance, as);
  if (yes !== true) await confirm(governance, verb, id);
  const body = {
    ...(comment === undefined ? {} : { comment }),
    ...(as === undefined ? {} : { approverId: as }),
    ...(grant === null ? {} : { grant }),
    ...(instead === undefined ? {} : { instead: { parameters: { ...instead } } }),
    ...(delegation === undefined ? {} : { delegationId: delegation }),
  };
  const decision = await sendReview(id, () =>
    governance.post(`/api/v1/decisions/{id}/${verb}`, { path: { id }, body }),
  );
  if (json === true) {
    printJson(decision);
    return;
  }
  printDecided(decision);
  if ((grant !== null || instead !== undefined) && decision.status !== 'proposed')
    await printGiven(governance, id, verb);
}

/**
 * Sends a review.
 * @throws SettingsError that names a page if a passkey has to sign the review: only a browser reaches passkeys
 */
async function sendReview(id: string, send: () => Promise<Decision>): Promise<Decision> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof GovernanceError) || error.reason !== 'signature_required') throw error;
    throw toSign(id);
  }
}

function toSign(id: string): SettingsError {
  return new SettingsError(`This approval is signed with a passkey. Open ${consoleLink(id)} to approve it.`);
}

function consoleLink(id: string): string {
  return `${settings().url}/console/decisions/${encodeURIComponent(id)}`;
}

/** True if a group needs signatures. */
function isSigned({ approvers }: Decision): boolean {
  return approvers?.some(({ signed }) => signed === true) === true;
}

/** @throws SettingsError if options limit a grant and --for is missing. */
function grantOf({ for: length, uses, resources, anyParameters }: DecideOptions): object | null {
  if (length !== undefined)
    return {
      for: length,
      ...(uses === undefined ? {} : { uses }),
      ...(resources === undefined ? {} : { resources: listed(resources) }),
      ...(anyParameters === true ? { parameters: 'any' } : {}),
    };
  if ((uses ?? resources ?? anyParameters) === undefined) return null;
  throw new SettingsError(
    '--uses, --resources and --any-parameters need --for, the time for which the grant is given.',
  );
}

/** Prints the grant that the review gave, or why there is none. */
async function printGiven(governance: GovernanceClient, decisionId: string, verb: Verb): Promise<void> {
  const [grant] = (await governance.get('/api/v1/grants', { query: { decisionId } })).data;
  if (grant !== undefined)
    printLine(plain(`It may be done until ${grant.until}, by ${grant.id}: ${grantText(grant)}.`));
  else if (verb === 'approve') printLine('No grant was made: those who approved did not all give the same.');
  else printLine('The parameters are a hint: the agent has to request the action with them.');
}

function printDecided(decision: Decision): void {
  const colour = decision.status === 'approved' ? 'green' : 'yellow';
  printLine(`${decision.id} is ${styled(colour, decision.status)}.`);
  if (decision.status === 'proposed') printLine(plain(`It still needs ${needs(decision)}.`));
}

/**
 * Checks the reviewer before the question. Warns of a key that is bound to nobody: its holder can decide as anyone, and
 * the ledger shows only the name that was given.
 * @throws SettingsError if no reviewer is named
 */
async function requireReviewer(governance: GovernanceClient, as: string | undefined): Promise<void> {
  if ((await governance.get('/api/v1/me')).agentId !== null) return;
  if (as === undefined) throw new SettingsError(NO_REVIEWER);
  printError(
    plain(`Signing as ${as}. This key is not bound to a person; it can sign as anyone. `) +
      'Let people decide with keys of their own: gov keys issue <name> --scopes read,review --agent <person>.',
  );
}

/** Shows the case and asks for confirmation. @throws SettingsError unless the answer is yes. */
async function confirm(governance: GovernanceClient, verb: Verb, id: string): Promise<void> {
  const reviewCase = await caseOf(governance, id);
  printCase(reviewCase);
  const { status, approvers } = reviewCase.decision;
  // The service refuses a settled decision, and names its status.
  if (status !== 'proposed') return;
  if (verb === 'approve' && approvers?.every(({ signed }) => signed === true) === true) throw toSign(id);
  await (verb === 'approve'
    ? requireConfirmation('Approve?', 'Nothing was approved')
    : requireConfirmation('Reject?', 'Nothing was rejected'));
}
