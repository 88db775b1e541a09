import type { Command } from 'commander';
import { printJson, printTable } from '../output.js';
import { client } from '../settings.js';

/** The commands about the directory that sends people by SCIM. */
export function addDirectoryCommand(program: Command): void {
  program
    .command('directory')
    .description('what a directory of people (SCIM) has sent')
    .command('groups')
    .description('list its groups, whose ids DIRECTORY_ROLES maps to roles. Needs the scope admin')
    .option('--json', 'as JSON, as the service answers it')
    .action(groups);
}

async function groups({ json }: { readonly json?: boolean }): Promise<void> {
  const answer = await client().get('/api/v1/directory/groups');
  if (json === true) printJson(answer);
  else
    printTable(answer.data, [
      { title: 'GROUP', value: (group) => group.displayName },
      { title: 'EXTERNAL ID', value: (group) => group.externalId ?? '–' },
      { title: 'ID', value: (group) => group.id },
      { title: 'MEMBERS', value: (group) => String(group.members) },
      { title: 'ROLES', value: (group) => (group.roles.length === 0 ? '–' : group.roles.join(', ')) },
    ]);
}
