import { type Command, InvalidArgumentError } from 'commander';
import { type AgentNames, agentNames, isAgentId, isKeyId, keyName, withName } from '../agent-names.js';
import { seenBy } from '../decision-text.js';
import { writeChain, writeNewFile } from '../streamed-answers.js';
import { plain, printLine, shownJson, styled } from '../output.js';
import { runService, runVerifier, SERVICE_OPTION, serviceFolder, type ServiceOption } from '../service-program.js';
import { client, settings } from '../settings.js';
import type { AuditEntry, GovernanceClient } from '../../../typescript/src/index.js';

export function addLedgerCommands(program: Command): void {
  program
    .command('events')
    .description('follow the audit trail as it grows, until interrupted')
    .option('--after <sequence>', 'begin after this entry; by default with the next new one', sequence)
    .option('--action <action...>', 'only these actions: exact, or a family such as decision.*')
    .option('--follow', 'has no effect: it always follows')
    .option('--json', 'one entry a line, as JSON')
    .action(follow);
  program
    .command('export')
    .description('print the whole chain as lines of JSON, for the offline verifier')
    .option('--after <sequence>', 'begin after this entry', sequence)
    .option('--out <file>', 'write it to this file instead of standard output')
    .action(exportChain);
  program
    .command('verify [parameters...]')
    .description('run the offline verifier with its own parameters: a database, an export, a checkpoint')
    .option(...SERVICE_OPTION)
    .allowUnknownOption()
    .helpOption(false)
    .action((parameters: string[], { service }: ServiceOption) => runVerifier(serviceFolder(service), parameters));
  program
    .command('up')
    .description('start the service on embedded SQLite in the current folder')
    .option(...SERVICE_OPTION)
    .action(({ service }: ServiceOption) => runService(serviceFolder(service)));
}

async function exportChain({ after, out }: { after?: number; out?: string }): Promise<void> {
  const from = settings();
  if (out === undefined) await writeChain(from, process.stdout, after);
  else await writeNewFile(out, (to) => writeChain(from, to, after));
}

async function follow({ after, action, json }: { after?: number; action?: string[]; json?: boolean }): Promise<void> {
  const controller = new AbortController();
  process.once('SIGINT', () => {
    process.exit(0);
  });
  const request = {
    signal: controller.signal,
    ...(after === undefined ? {} : { after }),
    ...(action && { actions: action }),
  };
  const governance = client();
  const sees = json === true ? () => false : await seenBy(governance);
  const names = new Map<string, string>();
  for await (const entry of governance.events(request)) {
    if (sees('read')) await addAgentNames(governance, names, entry);
    if (sees('admin')) await addKeyNames(governance, names, entry);
    printLine(json === true ? shownJson(entry) : lineOf(entry, names));
  }
}

/** Loads names of agents. Names that cannot be read now are left out, so that the stream goes on. */
async function addAgentNames(
  governance: GovernanceClient,
  names: Map<string, string>,
  { subjectId, agentId, actor }: AuditEntry,
): Promise<void> {
  const ids = [subjectId, agentId, actor.id].filter(isAgentId).filter((id) => !names.has(id));
  const newNames = await agentNames(governance, ids).catch((): AgentNames => new Map());
  for (const [id, name] of newNames) names.set(id, name);
}

/** Loads names of keys in the same way. */
async function addKeyNames(
  governance: GovernanceClient,
  names: Map<string, string>,
  { subjectId, actor }: AuditEntry,
): Promise<void> {
  for (const id of [subjectId, actor.id].filter(isKeyId)) {
    if (names.has(id)) continue;
    const newNames = await keyName(governance, id).catch((): AgentNames => new Map());
    for (const [keyId, name] of newNames) names.set(keyId, name);
  }
}

function lineOf({ timestamp, action, subjectId, agentId, actor, outcome }: AuditEntry, names: AgentNames): string {
  const actionText = outcome === 'success' ? plain(action) : styled('red', plain(`${action} (${outcome})`));
  const isApart = agentId !== null && agentId !== subjectId && agentId !== actor.id;
  const agent = isApart ? `  of ${plain(withName(agentId, names))}` : '';
  const [subject, doer] = [subjectId, actor.id].map((id) => plain(withName(id, names)));
  return `${timestamp}  ${actionText}  ${subject}${agent}  by ${actor.type} ${doer}`;
}

function sequence(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected the sequence of an entry, such as 42, or 0.');
}
