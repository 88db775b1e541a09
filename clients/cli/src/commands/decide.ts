import type { Command } from 'commander';
import { caseOf, type Decision, executionsOf, needs, printBrief, printCase, seenBy } from '../decision-text.js';
import { plain, printError, printJson, printLine, styled } from '../output.js';
import { isConfirmed } from '../question.js';
import { client, SettingsError } from '../settings.js';
import { type GovernanceClient, GovernanceError } from '../../../typescript/src/index.js';

interface DecideOptions {
  readonly comment?: string;
  readonly as?: string;
  readonly json?: boolean;
  readonly yes?: boolean;
}

/** The commands for reviewers. */
export function addReviewCommands(program: Command): void {
  program
    .command('inbox')
    .description('decisions that wait for you; with a key that is bound to no agent, all that are open')
    .option('--as <agent>', 'those that wait for another agent, by id or name')
    .option('--json', 'the records as JSON')
    .action(showInbox);
  for (const verb of ['approve', 'reject'] as const) {
    const command = program
      .command(`${verb} <decision>`)
      .description(`${verb} a decision by its id`)
      .option('--comment <text>', 'why')
      .option('--as <agent>', 'the reviewer; the agent of your key unless given')
      .option('--json', 'the decision as JSON');
    if (verb === 'approve') command.option('--yes', 'without showing it and asking once more on a terminal');
    command.action((id: string, options: DecideOptions) => decide(verb, id, options));
  }
}

async function showInbox({ as, json }: { as?: string; json?: boolean }): Promise<void> {
  const governance = client();
  if (as !== undefined && (await seenBy(governance))('read')) await requireAgent(governance, as);
  const agent = as ?? (await governance.get('/api/v1/me')).agentId;
  const awaiting = agent === null ? {} : { awaiting: agent };
  const { data, total } = await governance.get('/api/v1/decisions', {
    query: { status: 'proposed', ...awaiting, limit: 100 },
  });
  if (json === true) {
    printJson(data);
    return;
  }
  const executions = await executionsOf(governance, data);
  for (const decision of data) printBrief(decision, executions.get(decision.id));
  if (data.length === 0) printLine('Nothing.');
  else if (total > data.length) printLine(styled('dim', `${data.length} of ${total}.`));
}

/** @throws SettingsError for an unknown name, which has nothing waiting for it either. */
async function requireAgent(governance: GovernanceClient, name: string): Promise<void> {
  try {
    await governance.get('/api/v1/agents/{id}', { path: { id: name }, query: {} });
  } catch (error) {
    if (!(error instanceof GovernanceError) || error.status !== 404) throw error;
    throw new SettingsError(`There is no agent with the id or name ${plain(name)}.`);
  }
}

async function decide(verb: 'approve' | 'reject', id: string, options: DecideOptions): Promise<void> {
  const { comment, as, json, yes } = options;
  const governance = client();
  if (as !== undefined) await warnOfSigningForOthers(governance, as);
  if (verb === 'approve' && yes !== true && process.stdin.isTTY) await confirm(governance, id);
  const body = { ...(comment === undefined ? {} : { comment }), ...(as === undefined ? {} : { approverId: as }) };
  const decision: Decision = await governance.post(`/api/v1/decisions/{id}/${verb}`, { path: { id }, body });
  if (json === true) {
    printJson(decision);
    return;
  }
  const colour = decision.status === 'approved' ? 'green' : 'yellow';
  printLine(`${decision.id} is ${styled(colour, decision.status)}.`);
  if (decision.status === 'proposed') printLine(plain(`It still needs ${needs(decision)}.`));
}

/** Whoever holds such a key decides for everybody, and the ledger shows only whose name they gave. */
async function warnOfSigningForOthers(governance: GovernanceClient, as: string): Promise<void> {
  if ((await governance.get('/api/v1/me')).agentId !== null) return;
  printError(
    plain(`Signing as ${as} with a key that is bound to nobody: it makes any signature. `) +
      'Let people decide with keys of their own: gov keys issue <name> --scopes read,review --agent <person>.',
  );
}

/** @throws SettingsError unless the person who reads what is asked says yes. */
async function confirm(governance: GovernanceClient, id: string): Promise<void> {
  const asked = await caseOf(governance, id);
  printCase(asked);
  if (asked.decision.status === 'proposed' && !(await isConfirmed('Approve? [y/N] ')))
    throw new SettingsError('Nothing was approved.');
}
