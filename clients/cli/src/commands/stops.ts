import type { Command } from 'commander';
import { withChangeWait } from '../change-waits.js';
import { type AgentNames, withName } from '../agent-names.js';
import { seenBy } from '../decision-text.js';
import { type Column, plain, printError, printJson, printLine } from '../output.js';
import { client } from '../settings.js';
import { stopWarnings } from '../stop-warnings.js';
import { addListCommand, list, type ListOptions, readableNames } from './list.js';
import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';

type Stop = Schemas['StopResponse'];

/** Maximum number of agents that are read, and of agents in one response. */
const MAX_AGENTS = 5_000;
const MAX_PAGE_SIZE = 1_000;

interface StopOptions {
  readonly agent?: string;
  readonly role?: string;
  readonly action?: readonly string[];
  readonly reason: string;
  readonly json?: boolean;
}

/** The commands that stop agents at once, and lift stops. */
export function addStopCommands(program: Command): void {
  program
    .command('stop')
    .description(
      "stop all agents, or only the agents and actions that the options name. Needs a person's key, or admin",
    )
    .option('--agent <agent>', 'only this one, by id or name')
    .option('--role <role>', 'only agents with this role')
    .option('--action <pattern...>', 'only these actions, such as refund or send-*')
    .requiredOption('--reason <text>', 'why, kept on record')
    .option('--json', 'the stop as JSON')
    .action(stop);
  withChangeWait(program.command('lift <id>'))
    .description('end a stop: policies decide again about what it covered')
    .requiredOption('--reason <text>', 'why, kept on record')
    .option('--json', 'the stop as JSON')
    .action(lift);
  addListCommand(program, 'stops', 'list stops, newest first')
    .option('--status <status>', 'active or lifted')
    .action((options: ListOptions) => list<Stop>('/api/v1/stops', options, stopColumns));
}

async function stop({ agent, role, action, reason, json }: StopOptions): Promise<void> {
  const body = {
    reason,
    ...(agent === undefined ? {} : { agentId: agent }),
    ...(role === undefined ? {} : { role }),
    ...(action === undefined ? {} : { actions: [...action] }),
  };
  const governance = client();
  const stop = await governance.post('/api/v1/stops', { body });
  await show(governance, stop, json);
  if (role !== undefined || action !== undefined) await warnOfNobody(governance, stop);
}

/** Warns if a stop covers nobody. The stop exists even if this fails. */
async function warnOfNobody(governance: GovernanceClient, stop: Stop): Promise<void> {
  const agents = await allAgents(governance).catch((error: unknown) => {
    if (error instanceof GovernanceError) return null;
    throw error;
  });
  for (const warning of agents === null ? [] : stopWarnings(stop, agents))
    printError(plain(`Warning: ${warning} The stop ${stop.id} is made all the same.`));
}

/** Loads all agents; null if the key may not see them, or if there are too many. */
async function allAgents(governance: GovernanceClient): Promise<Schemas['AgentResponse'][] | null> {
  if (!(await seenBy(governance))('read')) return null;
  const agents: Schemas['AgentResponse'][] = [];
  for await (const agent of governance.pages('/api/v1/agents', { query: { limit: MAX_PAGE_SIZE } })) {
    if (agents.length === MAX_AGENTS) return null;
    agents.push(agent);
  }
  return agents;
}

async function lift(id: string, { reason, json }: Pick<StopOptions, 'reason' | 'json'>): Promise<void> {
  const governance = client();
  await show(governance, await governance.post('/api/v1/stops/{id}/lift', { path: { id }, body: { reason } }), json);
}

async function show(governance: GovernanceClient, stop: Stop, asJson: boolean | undefined): Promise<void> {
  if (asJson === true) {
    printJson(stop);
    return;
  }
  const { id, status, agentId } = stop;
  const cover = coverText(stop, await namesAfterwards(governance, agentId));
  if (status === 'lifted') printLine(plain(`${id} is lifted: ${cover}.`));
  else printLine(plain(`${id} stops ${cover}. To end it: gov lift ${id} --reason "…"`));
}

/** Returns the name of a stopped agent. The stop exists, so a name that cannot be read is not an error. */
function namesAfterwards(governance: GovernanceClient, agentId: string | null): Promise<AgentNames> {
  return readableNames(governance, [agentId]).catch((error: unknown): AgentNames => {
    if (error instanceof GovernanceError) return new Map();
    throw error;
  });
}

/** Describes what a stop covers, for people. */
function coverText({ agentId, role, actions }: Stop, names: AgentNames): string {
  const parts = [
    agentId === null ? 'every agent' : `the agent ${withName(agentId, names)}`,
    ...(role === null ? [] : [`with the role ${role}`]),
    actions.length === 0 ? 'in everything' : `in ${actions.join(', ')}`,
  ];
  return parts.join(' ');
}

async function stopColumns(governance: GovernanceClient, stops: readonly Stop[]): Promise<readonly Column<Stop>[]> {
  const names = await readableNames(
    governance,
    stops.map(({ agentId }) => agentId),
  );
  return [
    { title: 'STOP', value: ({ id }) => id },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'SINCE', value: ({ createdAt }) => createdAt },
    { title: 'COVERS', value: (stop) => coverText(stop, names) },
    { title: 'REASON', value: ({ reason }) => reason },
  ];
}
