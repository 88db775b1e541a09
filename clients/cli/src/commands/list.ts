import { type Command, type CommandOptions, InvalidArgumentError } from 'commander';
import { type Column, printJson, printTable } from '../output.js';
import { client } from '../settings.js';

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

export async function list<Row>(
  path: PagePath,
  { limit, json, ...filters }: ListOptions,
  columns: Column<Row>[],
): Promise<void> {
  const query = { ...filters, limit };
  const { data, total } = (await client().get(path, { query })) as { data: Row[]; total: number };
  if (json === true) printJson(data);
  else printTable(data, columns, total);
}

/** Items separated by commas. */
export function listed(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('It is a whole number.');
  return Number(text);
}
