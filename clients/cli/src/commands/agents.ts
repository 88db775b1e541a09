import { type Command, Option } from 'commander';
import { type Column, plain, printJson, printLine } from '../output.js';
import { withChangeWait } from '../change-waits.js';
import { client, SettingsError } from '../settings.js';
import { timeAhead } from '../time-span.js';
import { addListCommand, list, type ListOptions } from './list.js';
import type { Schemas } from '../../../typescript/src/index.js';

type Agent = Schemas['AgentResponse'];

interface Members {
  readonly description?: string;
  readonly roles?: string;
  readonly capabilities?: string;
  readonly team?: string;
}

const KINDS = ['machine', 'human'] as const;

/** The commands that list, register, change, suspend and resume agents. */
export function addAgentCommands(program: Command): void {
  const agents = program.command('agents').description('list, create, change, suspend and resume agents and people');
  addListCommand(agents, 'list', 'list all; the same as gov agents', { isDefault: true })
    .option('--role <role>')
    .option('--capability <name>')
    .option('--status <status>')
    .option('--kind <kind>')
    .option('--team <team>')
    .action((options: ListOptions) => list<Agent>('/api/v1/agents', options, COLUMNS));
  withMembers(agents.command('create <name>').description('register an agent, or a person who reviews'))
    .addOption(new Option('--kind <kind>', 'what it is; this cannot be changed').choices(KINDS).default('machine'))
    .action(create);
  withMembers(
    agents
      .command('set <agent>')
      .description('change an agent, by id or name: each option replaces what was there')
      .option(
        '--observe <time>',
        'until this time with a zone, or for a duration of at most P30D from now, let through and note what no policy allows; "none" ends that. Needs admin',
        observation,
      ),
  ).action(change);
  for (const verb of ['suspend', 'resume'] as const) {
    const command = agents.command(`${verb} <agent>`);
    (verb === 'resume' ? withChangeWait(command) : command)
      .description(verb === 'suspend' ? 'stop an agent from acting until it is resumed' : 'let an agent act again')
      .option('--reason <text>', 'why, kept on record')
      .option('--json', 'the agent as JSON')
      .action((agent: string, options: { reason?: string; json?: boolean }) => toggle(verb, agent, options));
  }
}

function withMembers(command: Command): Command {
  return withChangeWait(command)
    .option('--roles <roles>', 'separated by commas; "" for none')
    .option('--capabilities <names>', 'actions that it can do, separated by commas, such as refund,read_*; "" for none')
    .option('--description <text>')
    .option('--team <team>', 'of a machine; "" for none')
    .option('--json', 'the agent as JSON');
}

async function create(
  name: string,
  { kind, json, ...members }: Members & { readonly kind: Agent['kind']; readonly json?: boolean },
): Promise<void> {
  show(await client().post('/api/v1/agents', { body: { name, kind, ...bodyOf(members) } }), json, 'is registered');
}

async function change(
  agent: string,
  { json, observe, ...members }: Members & { readonly json?: boolean; readonly observe?: string },
): Promise<void> {
  const body = {
    ...bodyOf(members),
    ...(observe === undefined ? {} : { observeUntil: observe === 'none' ? null : observe }),
  };
  if (Object.keys(body).length === 0)
    throw new SettingsError('Nothing to change: give --roles, --capabilities, --description, --team or --observe.');
  show(await client().patch('/api/v1/agents/{id}', { path: { id: agent }, body }), json, 'is now');
}

async function toggle(
  verb: 'suspend' | 'resume',
  agent: string,
  { reason, json }: { readonly reason?: string; readonly json?: boolean },
): Promise<void> {
  const request = { path: { id: agent }, body: reason === undefined ? {} : { reason } };
  show(await client().post(`/api/v1/agents/{id}/${verb}`, request), json, 'is');
}

function bodyOf({
  description,
  roles,
  capabilities,
  team,
}: Members): Partial<Pick<Agent, 'description' | 'roles' | 'capabilities' | 'team'>> {
  return {
    ...(description === undefined ? {} : { description }),
    ...(roles === undefined ? {} : { roles: parts(roles) }),
    ...(capabilities === undefined ? {} : { capabilities: parts(capabilities) }),
    ...(team === undefined ? {} : { team: team === '' ? null : team }),
  };
}

/** Returns the time at which the observation ends; "none" ends it at once. */
function observation(text: string): string {
  return text === 'none' ? text : timeAhead(text);
}

function parts(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function show(agent: Agent, asJson: boolean | undefined, outcome: string): void {
  if (asJson === true) {
    printJson(agent);
    return;
  }
  const { id, name, kind, status, roles, capabilities, observeUntil } = agent;
  printLine(plain(`${name} (${id}) ${outcome}: ${kind}, ${status}.`));
  printLine(plain(`  roles         ${roles.join(', ') || 'none'}`));
  printLine(plain(`  capabilities  ${capabilities.join(', ') || 'none'}`));
  if (isAhead(observeUntil)) printLine(plain(`  observed      until ${observeUntil}`));
}

function isAhead(time: string | null): time is string {
  return time !== null && Date.parse(time) > Date.now();
}

const COLUMNS: Column<Agent>[] = [
  { title: 'AGENT', value: ({ id }) => id },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'KIND', value: ({ kind }) => kind },
  { title: 'STATUS', value: ({ status, observeUntil }) => (isAhead(observeUntil) ? `${status}, observed` : status) },
  { title: 'ROLES', value: ({ roles }) => roles.join(', ') },
  { title: 'CAPABILITIES', value: ({ capabilities }) => capabilities.join(', ') },
];
