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
import { requireWanted } from '../question.js';
import { client, settings, SettingsError } from '../settings.js';
import { listed, requireAgent, wholeNumber } from './list.js';
import { type Execution, type GovernanceClient, GovernanceError } from '../../../typescript/src/index.js';

type Verb = 'approve' | 'reject';

interface DecideOptions {
  readonly comment?: string;
  readonly as?: string;
  readonly json?: boolean;
  readonly yes?: boolean;
  /** What is given with an approval. */
  readonly for?: string;
  readonly uses?: number;
  readonly resources?: string;
  readonly anyParameters?: boolean;
  /** Parameters that would be approved in place of those that are rejected. */
  readonly instead?: Readonly<Record<string, unknown>>;
}

/** As many decisions as can be approved in one request. */
const MOST_TOGETHER = 50;
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
  const wanted = { ...(agent !== null && { awaiting: agent }), ...(run !== undefined && { run }) };
  const { data, total } = await governance.get('/api/v1/decisions', {
    query: { status: 'proposed', ...wanted, limit: approve === true ? MOST_TOGETHER : 100 },
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
  if (data.length > 1)
    printLine(styled('dim', 'To approve them together: gov inbox --approve; those of one run: --run <run>'));
}

/** With the hashes of what is shown: what has become another action meanwhile is not approved. */
async function approveTogether(
  governance: GovernanceClient,
  all: readonly Decision[],
  { as, approverId, comment, json, yes }: InboxOptions & { readonly approverId: string | null },
): Promise<void> {
  if (approverId === null) throw new SettingsError(NO_REVIEWER);
  if (as !== undefined) await requireReviewer(governance, as);
  const waiting = all.filter((decision) => !isSigned(decision));
  for (const { id } of all.filter(isSigned)) printError(`${id} takes a signature: ${consoleLink(id)}`);
  if (waiting.length === 0) {
    if (json === true) printJson([]);
    return;
  }
  if (yes !== true) {
    const executions = await executionsOf(governance, waiting);
    const names = await namesOf(governance, waiting);
    for (const decision of waiting) printCase(shownCase(decision, executions.get(decision.id) ?? null, names));
    await requireWanted(`Approve ${counted(waiting.length, 'decision')}?`, 'Nothing was approved');
  }
  const decisions = waiting.map(({ id, actionHash }) => ({ id, actionHash }));
  const body = { decisions, approverId, ...(comment === undefined ? {} : { comment }) };
  const { data } = await governance.post('/api/v1/decisions/approve', { body });
  if (json === true) printJson(data);
  else for (const decision of data) printDecided(decision);
}

/** Names of the reviewers, and of who proposed a decision about no execution, as far as the key may read them. */
async function namesOf(governance: GovernanceClient, decisions: readonly Decision[]): Promise<AgentNames> {
  const ids = decisions.flatMap((decision) => [
    ...(decision.executionId === null ? [decision.proposedBy] : []),
    ...decision.reviews.map(({ approverId }) => approverId),
    ...principalIds(decision),
  ]);
  if (ids.length === 0 || !(await seenBy(governance))('read')) return new Map();
  return agentNames(governance, ids);
}

function shownCase(decision: Decision, execution: Execution | null, others: AgentNames): Case {
  const reasons = execution === null ? [] : [`the policy ${policiesText(execution)}`];
  const names = new Map([...others, ...namesIn(execution)]);
  return { decision, execution, names, reasons, limits: [] };
}

async function decide(verb: Verb, id: string, options: DecideOptions): Promise<void> {
  const { comment, as, json, yes, instead } = options;
  const grant = grantOf(options);
  const governance = client();
  // A rejection may be by the holder of the key.
  if (verb === 'approve' || as !== undefined) await requireReviewer(governance, as);
  if (yes !== true) await confirm(governance, verb, id);
  const body = {
    ...(comment === undefined ? {} : { comment }),
    ...(as === undefined ? {} : { approverId: as }),
    ...(grant === null ? {} : { grant }),
    ...(instead === undefined ? {} : { instead: { parameters: { ...instead } } }),
  };
  const decision = await sent(id, () => governance.post(`/api/v1/decisions/{id}/${verb}`, { path: { id }, body }));
  if (json === true) {
    printJson(decision);
    return;
  }
  printDecided(decision);
  if ((grant !== null || instead !== undefined) && decision.status !== 'proposed')
    await printGiven(governance, id, verb);
}

/** A signature comes from a device, which only a browser reaches. @throws SettingsError that says where, if it takes one */
async function sent(id: string, send: () => Promise<Decision>): Promise<Decision> {
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

/** Whether a group asks for signatures. */
function isSigned({ approvers }: Decision): boolean {
  return approvers?.some(({ signed }) => signed === true) === true;
}

/** @throws SettingsError for what says how much is given, without how long. */
function grantOf({ for: length, uses, resources, anyParameters }: DecideOptions): object | null {
  if (length !== undefined)
    return {
      for: length,
      ...(uses === undefined ? {} : { uses }),
      ...(resources === undefined ? {} : { resources: listed(resources) }),
      ...(anyParameters === true ? { parameters: 'any' } : {}),
    };
  if ((uses ?? resources ?? anyParameters) === undefined) return null;
  throw new SettingsError('--uses, --resources and --any-parameters need --for: how long it is given.');
}

/** What came of what was given: a grant needs the same word of all that approve. */
async function printGiven(governance: GovernanceClient, decisionId: string, verb: Verb): Promise<void> {
  const [grant] = (await governance.get('/api/v1/grants', { query: { decisionId } })).data;
  if (grant !== undefined)
    printLine(plain(`It may be done until ${grant.until}, by ${grant.id}: ${grantText(grant)}.`));
  else if (verb === 'approve') printLine('No grant was made: those who approved did not all give the same.');
  else printLine('It is a hint: the agent has to ask for it.');
}

function printDecided(decision: Decision): void {
  const colour = decision.status === 'approved' ? 'green' : 'yellow';
  printLine(`${decision.id} is ${styled(colour, decision.status)}.`);
  if (decision.status === 'proposed') printLine(plain(`It still needs ${needs(decision)}.`));
}

/**
 * Before anybody is asked. Warns of a key that is bound to nobody: whoever holds it decides for everybody, and the ledger shows only whose
 * name they gave. @throws SettingsError where they give none
 */
async function requireReviewer(governance: GovernanceClient, as: string | undefined): Promise<void> {
  if ((await governance.get('/api/v1/me')).agentId !== null) return;
  if (as === undefined) throw new SettingsError(NO_REVIEWER);
  printError(
    plain(`Signing as ${as}. This key is not bound to a person; it can sign as anyone. `) +
      'Let people decide with keys of their own: gov keys issue <name> --scopes read,review --agent <person>.',
  );
}

/** @throws SettingsError unless the person who reads what is asked says yes. */
async function confirm(governance: GovernanceClient, verb: Verb, id: string): Promise<void> {
  const asked = await caseOf(governance, id);
  printCase(asked);
  const { status, approvers } = asked.decision;
  // What is settled is refused by the service, which says what it is.
  if (status !== 'proposed') return;
  if (verb === 'approve' && approvers?.every(({ signed }) => signed === true) === true) throw toSign(id);
  await (verb === 'approve'
    ? requireWanted('Approve?', 'Nothing was approved')
    : requireWanted('Reject?', 'Nothing was rejected'));
}
