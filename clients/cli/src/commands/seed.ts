import type { Command } from 'commander';
import { beforeEarlyEnd } from '../early-end.js';
import { findingFetch } from '../finding-fetch.js';
import { printError, printJson, printLine, printTable } from '../output.js';
import { readJsonFile } from '../json-file.js';
import { settings, SettingsError } from '../settings.js';
import { type DemoCompany, type IssuedDemoKey, makeDemoCompany } from '../../../typescript/src/demo-company.js';
import { GovernanceError } from '../../../typescript/src/index.js';

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

async function seed(file: string | undefined, options: { json?: boolean }): Promise<void> {
  const interruption = new AbortController();
  const making = make(readCompany(file ?? BUNDLED), options, interruption.signal);
  beforeEarlyEnd(async () => {
    interruption.abort();
    printError('Interrupted: the request that is under way is the last one.');
    await making.catch(() => undefined);
  });
  await making;
}

async function make(company: DemoCompany, { json }: { json?: boolean }, signal: AbortSignal): Promise<void> {
  const onPart = (part: string): void => printError(`${part} …`);
  const keys: IssuedDemoKey[] = [];
  const show = (title: string): void => (json === true ? printJson(keys) : printKeys(title, keys));
  try {
    const own = settings();
    const connection = { ...own, fetch: abortable(signal, findingFetch(own.url)) };
    await makeDemoCompany(connection, company, { onPart, onKey: (key) => void keys.push(key) });
  } catch (error) {
    // The keys are valid, and the service does not return them again.
    if (keys.length > 0) show(`${company.name} is incomplete. The keys that were issued are shown this once:`);
    throw error;
  }
  show(`${company.name} is ready. The keys of its agents and people are shown this once:`);
  if (json === true) return;
  printLine('See what waits with `gov inbox`. To act as one of them, set GOVERNANCE_API_KEY to their key.');
}

/** Interrupts between two requests only: the answer to a request may hold a key, which would be lost. */
function abortable(interruption: AbortSignal, send: typeof fetch): typeof fetch {
  return async (...request) => {
    if (interruption.aborted) throw new GovernanceError('It was interrupted.', { code: 'INTERRUPTED', status: null });
    return send(...request);
  };
}

function printKeys(title: string, keys: readonly IssuedDemoKey[]): void {
  printLine(`${title}\n`);
  printTable(keys, [
    { title: 'AGENT', value: ({ agent }) => agent },
    { title: 'KEY', value: ({ secret }) => secret },
  ]);
  printLine('');
}

function readCompany(file: string | URL): DemoCompany {
  const company = parseFile(file);
  const missingLists = LISTS.filter((name) => !Array.isArray(company?.[name]));
  if (missingLists.length === 0) return company as DemoCompany;
  throw new SettingsError(`${String(file)} does not describe a company: ${missingLists.join(', ')} must be arrays.`);
}

function parseFile(file: string | URL): Partial<DemoCompany> | null {
  try {
    return readJsonFile(file) as Partial<DemoCompany> | null;
  } catch (error) {
    throw new SettingsError(`${String(file)} cannot be read: ${(error as Error).message}`);
  }
}
