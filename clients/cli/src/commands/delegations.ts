import type { Command } from 'commander';
import { withName } from '../agent-names.js';
import { type Column, plain, printJson, printLine, printTable } from '../output.js';
import { client, SettingsError } from '../settings.js';
import { timeAhead } from '../time-span.js';
import { addListCommand, readableNames } from './list.js';
import type { GovernanceClient, Schemas } from '../../../typescript/src/index.js';

type Delegation = Schemas['DelegationResponse'];

const NOT_BOUND = 'Your key is bound to no agent, so it has no delegations: name the person with --of.';

/** The commands for people who are away. */
export function addDelegationCommands(program: Command): void {
  program
    .command('delegate <person>')
    .description('let another person review in your place while you are away')
    .requiredOption(
      '--until <time>',
      'a time with a zone, or a duration from now, such as P7D; at most 90 days',
      timeAhead,
    )
    .option('--from <time>', 'when it begins, likewise; by default now', timeAhead)
    .option('--json', 'the delegation as JSON')
    .action(delegate);
  const delegations = program
    .command('delegations')
    .description('list and end delegations: who may review in whose place');
  addListCommand(delegations, 'list', 'list delegations; the same as gov delegations', { isDefault: true })
    .option('--of <person>', 'those of this person, by id or name; by default yours')
    .option('--received', 'those that let the person review in the place of others')
    .option('--status <status>', 'waiting, active, ended or expired')
    .action(listDelegations);
  delegations
    .command('end <id>')
    .description('end a delegation at once; its reviews go on counting')
    .option('--of <person>', 'the person who made it; by default you')
    .action(end);
}

interface DelegateOptions {
  readonly until: string;
  readonly from?: string;
  readonly json?: boolean;
}

async function delegate(to: string, { until, from, json }: DelegateOptions): Promise<void> {
  const governance = client();
  const id = await personOf(governance, undefined);
  const body = { to, until, ...(from === undefined ? {} : { from }) };
  const delegation = await governance.post('/api/v1/agents/{id}/delegations', { path: { id }, body });
  if (json === true) printJson(delegation);
  else printLine(plain(`${delegation.id} is ${delegation.status}, from ${delegation.from} until ${delegation.until}.`));
}

interface ListDelegationsOptions {
  readonly of?: string;
  readonly received?: boolean;
  readonly status?: Delegation['status'];
  readonly limit: number;
  readonly json?: boolean;
}

async function listDelegations({ of, received, status, limit, json }: ListDelegationsOptions): Promise<void> {
  const governance = client();
  const id = await personOf(governance, of);
  const filter = {
    ...(status === undefined ? {} : { status }),
    ...(received === true ? { side: 'received' as const } : {}),
  };
  const page = await governance.get('/api/v1/agents/{id}/delegations', { path: { id }, query: { ...filter, limit } });
  if (json === true) printJson(page.data);
  else printTable(page.data, await columnsFor(governance, page.data), page.total);
}

async function end(delegationId: string, { of }: { readonly of?: string }): Promise<void> {
  const governance = client();
  const path = { id: await personOf(governance, of), delegationId };
  const { status } = await governance.post('/api/v1/agents/{id}/delegations/{delegationId}/end', { path });
  printLine(plain(`${delegationId} is ${status}.`));
}

/** @throws SettingsError if neither the option nor the key names a person. */
async function personOf(governance: GovernanceClient, of: string | undefined): Promise<string> {
  const id = of ?? (await governance.get('/api/v1/me')).agentId;
  if (id === null) throw new SettingsError(NOT_BOUND);
  return id;
}

async function columnsFor(
  governance: GovernanceClient,
  delegations: readonly Delegation[],
): Promise<readonly Column<Delegation>[]> {
  const names = await readableNames(
    governance,
    delegations.flatMap(({ agentId, to }) => [agentId, to]),
  );
  return [
    { title: 'DELEGATION', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'OF', value: ({ agentId }) => withName(agentId, names) },
    { title: 'TO', value: ({ to }) => withName(to, names) },
    { title: 'FROM', value: ({ from }) => from },
    { title: 'UNTIL', value: ({ until }) => until },
  ];
}
