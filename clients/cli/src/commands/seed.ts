import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { printJson, printLine, printTable } from '../output.js';
import { settings, SettingsError } from '../settings.js';
import { type DemoCompany, makeDemoCompany } from '../../../typescript/src/demo-company.js';

/** The build puts `examples/demo.json` here. */
const BUNDLED = new URL('../../../demo.json', import.meta.url);
const LISTS = ['agents', 'entities', 'policies', 'keys', 'executions', 'decisions'] as const;

export function addSeedCommand(program: Command): void {
  program
    .command('seed [file]')
    .description('make a demo company in an empty service; with a file, the company that it describes')
    .option('--json', 'the keys of its agents and people as JSON')
    .action(seed);
}

async function seed(file: string | undefined, { json }: { json?: boolean }): Promise<void> {
  const company = readCompany(file ?? BUNDLED);
  const onPart = (part: string): void => void process.stderr.write(`${part} …\n`);
  const keys = await makeDemoCompany(settings(), company, { onPart });
  if (json === true) {
    printJson(keys);
    return;
  }
  printLine(`${company.name} is ready. The keys of its agents and people are shown this once:\n`);
  printTable(keys, [
    { title: 'AGENT', value: ({ agent }) => agent },
    { title: 'KEY', value: ({ secret }) => secret },
  ]);
  printLine('\nSee what waits with `gov inbox`. To act as one of them, set GOVERNANCE_API_KEY to their key.');
}

function readCompany(file: string | URL): DemoCompany {
  const company = parsed(file);
  const missing = LISTS.filter((name) => !Array.isArray(company?.[name]));
  if (missing.length === 0) return company as DemoCompany;
  throw new SettingsError(`${String(file)} does not describe a company: ${missing.join(', ')} must be arrays.`);
}

function parsed(file: string | URL): Partial<DemoCompany> | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Partial<DemoCompany> | null;
  } catch (error) {
    throw new SettingsError(`${String(file)} cannot be read: ${(error as Error).message}`);
  }
}
