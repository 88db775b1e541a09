import type { Command } from 'commander';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { agentNames } from '../agent-names.js';
import { plain, printError, printLine, printPrompt } from '../output.js';
import {
  client,
  clientOf,
  keepSettings,
  profileName,
  requireUsable,
  serviceAddress,
  serviceUrl,
  SettingsError,
} from '../settings.js';
import type { GovernanceClient, Schemas } from '../../../typescript/src/index.js';

type Me = Pick<Schemas['MeResponse'], 'agentId' | 'scopes'>;

export function addLoginCommands(program: Command): void {
  program
    .command('login')
    .description('store a key for this user; it is read from the terminal or standard input, never from an argument')
    .option('--url <url>', 'where the service is')
    .action(login);
  program.command('whoami').description('show whose key this is and what it may do').action(whoAmI);
}

async function login({ url: urlOption }: { url?: string }): Promise<void> {
  const url = urlOption === undefined ? serviceUrl() : serviceAddress(urlOption);
  const key = (await readKey()).trim();
  if (key === '') throw new SettingsError('No key was given.');
  requireUsable(key);
  const governance = clientOf({ url, key });
  const me = await governance.get('/api/v1/me');
  const path = keepSettings({ url, key });
  const { actor, agentId } = me;
  const agent = agentId === null ? 'bound to no agent' : `bound to the agent ${await agentText(governance, me)}`;
  printLine(plain(`Logged in at ${url} with the key ${actor.id}, ${agent}. Kept in ${path}.`));
  if (process.env['GOVERNANCE_API_KEY'] !== undefined && profileName() === undefined)
    printError(
      'Warning: GOVERNANCE_API_KEY is set and takes precedence. Unset it to use the key that was just stored.',
    );
}

async function whoAmI(): Promise<void> {
  const governance = client();
  const me = await governance.get('/api/v1/me');
  const { actor, team, scopes, expiresAt } = me;
  printLine(plain(`${actor.type} ${actor.id}`));
  printLine(plain(`agent:   ${await agentText(governance, me)}`));
  if (team !== null) printLine(plain(`team:    ${team}`));
  printLine(plain(`scopes:  ${scopes.join(', ')}`));
  printLine(`expires: ${expiresAt ?? 'never'}`);
}

/** Returns the name and id of the agent; the id alone for a key that may not read agents. */
async function agentText(governance: GovernanceClient, { agentId, scopes }: Me): Promise<string> {
  if (agentId === null) return 'none';
  if (!scopes.some((scope) => scope === 'read' || scope === 'admin')) return agentId;
  const name = (await agentNames(governance, [agentId])).get(agentId);
  return name === undefined ? agentId : `${name} (${agentId})`;
}

/** Reads the key: typed without echo, or the first line of piped input. */
async function readKey(): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const isTerminal = process.stdin.isTTY;
  if (isTerminal) printPrompt('Key: ');
  const lines = createInterface({ input: process.stdin, output: silent, terminal: isTerminal });
  try {
    for await (const line of lines) return line;
    return '';
  } finally {
    lines.close();
    if (isTerminal) printError('');
  }
}
