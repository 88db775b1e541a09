import type { Command } from 'commander';
import { duration, plain, printJson, printLine, printTable, styled } from '../output.js';
import { client } from '../settings.js';
import type { Schemas } from '../../../typescript/src/index.js';

type Decision = Schemas['DecisionResponse'];

interface DecideOptions {
  readonly comment?: string;
  readonly as?: string;
  readonly json?: boolean;
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
    program
      .command(`${verb} <decision>`)
      .description(`${verb} a decision by its id`)
      .option('--comment <text>', 'why')
      .option('--as <agent>', 'the reviewer; the agent of your key unless given')
      .option('--json', 'the decision as JSON')
      .action((id: string, options: DecideOptions) => decide(verb, id, options));
  }
}

async function showInbox({ as, json }: { as?: string; json?: boolean }): Promise<void> {
  const governance = client();
  const agent = as ?? (await governance.get('/api/v1/me')).agentId;
  const awaiting = agent === null ? {} : { awaiting: agent };
  const { data, total } = await governance.get('/api/v1/decisions', {
    query: { status: 'proposed', ...awaiting, limit: 100 },
  });
  if (json === true) {
    printJson(data);
    return;
  }
  const now = Date.now();
  printTable(
    data,
    [
      { title: 'DECISION', value: ({ id }) => id },
      { title: 'RISK', value: ({ riskLevel }) => riskLevel },
      { title: 'WHAT', value: ({ title }) => title },
      { title: 'NEEDS', value: needs },
      { title: 'AGE', value: ({ createdAt }) => duration(now - Date.parse(createdAt)) },
      { title: 'LEFT', value: ({ expiresAt }) => (expiresAt === null ? '' : duration(Date.parse(expiresAt) - now)) },
    ],
    total,
  );
}

async function decide(verb: 'approve' | 'reject', id: string, { comment, as, json }: DecideOptions): Promise<void> {
  const body = { ...(comment === undefined ? {} : { comment }), ...(as === undefined ? {} : { approverId: as }) };
  const decision: Decision = await client().post(`/api/v1/decisions/{id}/${verb}`, { path: { id }, body });
  if (json === true) {
    printJson(decision);
    return;
  }
  const colour = decision.status === 'approved' ? 'green' : 'yellow';
  printLine(`${decision.id} is ${styled(colour, decision.status)}.`);
  if (decision.status === 'proposed') printLine(plain(`It still needs ${needs(decision)}.`));
}

/** What is missing: "1 of role:security and 2 of role:finance". */
export function needs({ approvers, requiredApprovals, reviews }: Decision): string {
  if (approvers === null) {
    const given = reviews.filter(({ verdict }) => verdict === 'approve').length;
    return `${Math.max(0, requiredApprovals - given)} of anybody`;
  }
  return approvers
    .filter(({ approvals, given }) => given < approvals)
    .map(({ subjects, approvals, given }) => `${approvals - given} of ${subjects.join(', ')}`)
    .join(' and ');
}
