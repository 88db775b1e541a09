import { type Command, type CommandOptions, InvalidArgumentError } from 'commander';
import { type AgentNames, agentNames } from '../agent-names.js';
import { type Column, printJson, printTable } from '../output.js';
import { requireAgent } from '../require-agent.js';
import { client } from '../settings.js';
import { seenBy } from '../decision-text.js';
import type { GovernanceClient } from '../../../typescript/src/index.js';

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
  /** An agent, by id or name, whose records are listed. */
  readonly agentId?: string;
}

/** A command that lists records; its further options are the filters of the list. */
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

/** Columns, or a function that makes them for the rows that are shown, as it may look up names. */
type Columns<Row> =
  | readonly Column<Row>[]
  | ((governance: GovernanceClient, rows: readonly Row[]) => Promise<readonly Column<Row>[]>);

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

/** Loads the names of agents; none if the key may not read them. */
export async function readableNames(
  governance: GovernanceClient,
  ids: readonly (string | null)[],
): Promise<AgentNames> {
  return (await seenBy(governance))('read') ? agentNames(governance, ids) : new Map();
}

/** Splits a text into items separated by commas. */
export function listed(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('Expected a whole number, such as 50.');
  return Number(text);
}
