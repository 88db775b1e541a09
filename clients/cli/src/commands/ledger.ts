import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { printLine, styled } from '../output.js';
import { client, settings, SettingsError } from '../settings.js';
import { errorOf } from '../../../typescript/src/governance-error.js';
import type { AuditEntry } from '../../../typescript/src/index.js';

const PACKAGE = 'agent-governance-service';

export function addLedgerCommands(program: Command): void {
  program
    .command('events')
    .description('the audit trail as it grows, until it is interrupted')
    .option('--after <sequence>', 'begins after this entry; with those to come unless given', Number)
    .option('--action <action...>', 'exact, or a family such as decision.*')
    .option('--json', 'one entry of JSON on each line')
    .action(follow);
  program
    .command('export')
    .description('the whole chain as lines of JSON, for the offline verifier')
    .option('--after <sequence>', 'begins after this entry')
    .action(exportChain);
  program
    .command('verify [parameters...]')
    .description('the offline verifier, with what it takes: a database, an export, a checkpoint')
    .allowUnknownOption()
    .helpOption(false)
    .action((parameters: string[]) => runFile(join('verifier', 'main.mjs'), parameters));
  program
    .command('up')
    .description('start the service on embedded SQLite, in the folder you are in')
    .action(() => runFile(join('dist', 'main.js'), []));
}

async function exportChain({ after }: { after?: string }): Promise<void> {
  const { url, key } = settings();
  const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`;
  const answer = await fetch(`${url}/api/v1/provenance/export${query}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  if (!answer.ok || answer.body === null) throw errorOf(answer.status, await answer.text());
  await pipeline(Readable.from(answer.body), process.stdout, { end: false });
}

async function follow({ after, action, json }: { after?: number; action?: string[]; json?: boolean }): Promise<void> {
  const ending = new AbortController();
  process.once('SIGINT', () => {
    process.exit(0);
  });
  const request = {
    signal: ending.signal,
    ...(after === undefined ? {} : { after }),
    ...(action && { actions: action }),
  };
  for await (const entry of client().events(request)) printLine(json === true ? JSON.stringify(entry) : lineOf(entry));
}

function lineOf({ timestamp, action, subjectId, actor, outcome }: AuditEntry): string {
  const told = outcome === 'success' ? action : styled('red', `${action} (${outcome})`);
  return `${timestamp}  ${told}  ${subjectId}  by ${actor.type} ${actor.id}`;
}

/** Runs a program of the service to its end, which is this command's end, too. */
async function runFile(file: string, parameters: readonly string[]): Promise<void> {
  const program = spawn(process.execPath, [join(serviceFolder(), file), ...parameters], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => program.kill(signal));
  process.exitCode = await new Promise<number>((resolve, reject) => {
    program.on('error', reject);
    program.on('close', (code) => resolve(code ?? 1));
  });
}

/** The clone that this stands in, or the package that is installed next to it. */
function serviceFolder(): string {
  const require = createRequire(import.meta.url);
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && (require(manifest) as { name?: string }).name === PACKAGE) return folder;
  }
  try {
    return dirname(require.resolve(`${PACKAGE}/package.json`, { paths: [process.cwd(), import.meta.dirname] }));
  } catch {
    throw new SettingsError(`The service is not installed here: npm install ${PACKAGE}.`);
  }
}
