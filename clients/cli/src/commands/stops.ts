import type { Command } from 'commander';
import { seenBy } from '../decision-text.js';
import { type Column, plain, printError, printJson, printLine } from '../output.js';
import { client } from '../settings.js';
import { stopWarnings } from '../stop-warnings.js';
import { addListCommand, list, type ListOptions } from './list.js';
import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';

type Stop = Schemas['StopResponse'];

/** Agents that are looked through, and as many of them in one request. */
const MOST_AGENTS = 5_000;
const LONGEST_PAGE = 1_000;

interface StopOptions {
  readonly agent?: string;
  readonly role?: string;
  readonly action?: readonly string[];
  readonly reason: string;
  readonly json?: boolean;
}

/** Agents stopped at once, and let go on. */
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
  program
    .command('lift <id>')
    .description('end a stop: policies decide again about what it covered')
    .requiredOption('--reason <text>', 'why, kept on record')
    .option('--json', 'the stop as JSON')
    .action(lift);
  addListCommand(program, 'stops', 'list stops, newest first')
    .option('--status <status>', 'active or lifted')
    .action((options: ListOptions) => list<Stop>('/api/v1/stops', options, COLUMNS));
}

async function stop({ agent, role, action, reason, json }: StopOptions): Promise<void> {
  const body = {
    reason,
    ...(agent === undefined ? {} : { agentId: agent }),
    ...(role === undefined ? {} : { role }),
    ...(action === undefined ? {} : { actions: [...action] }),
  };
  const governance = client();
  const made = await governance.post('/api/v1/stops', { body });
  show(made, json);
  if (role !== undefined || action !== undefined) await warnOfNobody(governance, made);
}

/** The stop is made, whatever comes of this. */
async function warnOfNobody(governance: GovernanceClient, made: Stop): Promise<void> {
  const agents = await allAgents(governance).catch((error: unknown) => {
    if (error instanceof GovernanceError) return null;
    throw error;
  });
  for (const warning of agents === null ? [] : stopWarnings(made, agents))
    printError(plain(`Warning: ${warning} The stop ${made.id} is made all the same.`));
}

/** Null if the key may not see them, or if they are too many to look through. */
async function allAgents(governance: GovernanceClient): Promise<Schemas['AgentResponse'][] | null> {
  if (!(await seenBy(governance))('read')) return null;
  const agents: Schemas['AgentResponse'][] = [];
  for await (const agent of governance.pages('/api/v1/agents', { query: { limit: LONGEST_PAGE } })) {
    if (agents.length === MOST_AGENTS) return null;
    agents.push(agent);
  }
  return agents;
}

async function lift(id: string, { reason, json }: Pick<StopOptions, 'reason' | 'json'>): Promise<void> {
  show(await client().post('/api/v1/stops/{id}/lift', { path: { id }, body: { reason } }), json);
}

function show(made: Stop, asJson: boolean | undefined): void {
  if (asJson === true) {
    printJson(made);
    return;
  }
  const { id, status } = made;
  if (status === 'lifted') printLine(plain(`${id} is lifted: ${covered(made)}.`));
  else printLine(plain(`${id} stops ${covered(made)}. To end it: gov lift ${id} --reason "…"`));
}

/** For people. */
function covered({ agentId, role, actions }: Stop): string {
  const parts = [
    agentId === null ? 'every agent' : `the agent ${agentId}`,
    ...(role === null ? [] : [`with the role ${role}`]),
    actions.length === 0 ? 'in everything' : `in ${actions.join(', ')}`,
  ];
  return parts.join(' ');
}

const COLUMNS: Column<Stop>[] = [
  { title: 'STOP', value: ({ id }) => id },
  { title: 'STATUS', value: ({ status }) => status },
  { title: 'SINCE', value: ({ createdAt }) => createdAt },
  { title: 'COVERS', value: covered },
  { title: 'REASON', value: ({ reason }) => reason },
];
