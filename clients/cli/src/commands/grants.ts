import type { Command } from 'commander';
import { withName } from '../agent-names.js';
import { type Grant, grantText } from '../grant-text.js';
import { type Column, plain, printLine } from '../output.js';
import { client } from '../settings.js';
import { addListCommand, list, type ListOptions, readableNames } from './list.js';
import type { GovernanceClient } from '../../../typescript/src/index.js';

/** The commands for grants: approvals for more than one action. */
export function addGrantCommands(program: Command): void {
  const grants = program.command('grants').description('list and revoke grants: approvals that agents may use again');
  addListCommand(grants, 'list', 'list grants, newest first; the same as gov grants', { isDefault: true })
    .option('--agent <agent>', 'only those of this agent, by id or name')
    .option('--status <status>', 'active, used_up, expired or revoked')
    .action(({ agent, ...options }: ListOptions & { readonly agent?: string }) => {
      const ofAgent = agent === undefined ? {} : { agentId: agent };
      return list<Grant>('/api/v1/grants', { ...options, ...ofAgent, order: 'desc' }, columnsFor);
    });
  grants
    .command('revoke <id>')
    .description('end a grant: from then on its agent has to ask again')
    .option('--reason <text>', 'why, kept on record')
    .action(revoke);
}

async function revoke(id: string, { reason }: { readonly reason?: string }): Promise<void> {
  const body = reason === undefined ? {} : { reason };
  const { status } = await client().post('/api/v1/grants/{id}/revoke', { path: { id }, body });
  printLine(plain(`${id} is ${status}.`));
}

async function columnsFor(governance: GovernanceClient, grants: readonly Grant[]): Promise<readonly Column<Grant>[]> {
  const names = await readableNames(
    governance,
    grants.map(({ agentId }) => agentId),
  );
  return [
    { title: 'GRANT', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'AGENT', value: ({ agentId }) => withName(agentId, names) },
    { title: 'USED', value: ({ used, uses }) => (uses === null ? String(used) : `${used} of ${uses}`) },
    { title: 'UNTIL', value: ({ until }) => until },
    { title: 'FOR', value: grantText },
  ];
}
