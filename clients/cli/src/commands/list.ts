import { type Command, type CommandOptions, InvalidArgumentError } from 'commander';
import { type AgentNames, agentNames } from '../agent-names.js';
import { type Column, plain, printJson, printTable } from '../output.js';
import { client, SettingsError } from '../settings.js';
import { seenBy } from '../decision-text.js';
import { type GovernanceClient, GovernanceError } from '../../../typescript/src/index.js';

type PagePath =
  | '/api/v1/agents'
  | '/api/v1/api-keys'
  | '/api/v1/audit'
  | '/api/v1/executions'
  | '/api/v1/grants'
  | '/api/v1/policies'
  | '/api/v1/stops';

export interface ListOptions {
  readonly limit: number;
  readonly json?: boolean;
  readonly order?: 'desc';
  /** Of an agent, by id or name. */
  readonly agentId?: string;
}

/** A command that lists records; what further options it has are the filters of the list. */
export function addListCommand(
  parent: Command,
  name: string,
  description: string,
  options: CommandOptions = {},
): Command {
  return parent
    .command(name, options)
    .description(description)
    .option('--limit <number>', 'how many', wholeNumber, 50)
    .option('--json', 'the records as JSON');
}

/** Columns, or what makes them for the rows that are shown: it may look up names. */
type Columns<Row> =
  readonly Column<Row>[] | ((governance: GovernanceClient, rows: readonly Row[]) => Promise<readonly Column<Row>[]>);

export async function list<Row>(
  path: PagePath,
  { limit, json, ...filters }: ListOptions,
  columns: Columns<Row>,
): Promise<void> {
  const query = { ...filters, limit };
  const governance = client();
  const { data, total } = (await governance.get(path, { query })) as { data: Row[]; total: number };
  if (total === 0 && filters.agentId !== undefined) await requireAgent(governance, filters.agentId);
  if (json === true) printJson(data);
  else printTable(data, typeof columns === 'function' ? await columns(governance, data) : columns, total);
}

/**
 * A list finds as little for an agent that does not exist as for one that has done nothing. Only a key with the scope `read` can tell
 * them apart. @throws SettingsError
 */
export async function requireAgent(governance: GovernanceClient, idOrName: string): Promise<void> {
  if (!(await seenBy(governance))('read')) return;
  try {
    await governance.get('/api/v1/agents/{id}', { path: { id: idOrName }, query: {} });
  } catch (error) {
    if (!(error instanceof GovernanceError) || error.status !== 404) throw error;
    throw new SettingsError(`There is no agent with the id or name ${plain(idOrName)}.`);
  }
}

/** The names of agents, as far as the key may read them. */
export async function readableNames(
  governance: GovernanceClient,
  ids: readonly (string | null)[],
): Promise<AgentNames> {
  return (await seenBy(governance))('read') ? agentNames(governance, ids) : new Map();
}

/** Items separated by commas. */
export function listed(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('It is a whole number.');
  return Number(text);
}
