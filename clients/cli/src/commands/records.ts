import { type Command, Option } from 'commander';
import { withChangeWait } from '../change-waits.js';
import { type AgentNames, agentNames, keyNames, withName } from '../agent-names.js';
import { caseOf, printCase, seenBy } from '../decision-text.js';
import { type Column, printError, printJson, printLine } from '../output.js';
import { client, SettingsError } from '../settings.js';
import { addAgentCommands } from './agents.js';
import { addExecutionCommands } from './executions.js';
import { addListCommand, list, listed, type ListOptions, readableNames } from './list.js';
import { addPolicyFileCommands } from './policies.js';
import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';

type AuditEntry = Schemas['AuditEntryResponse'];
type ApiKey = Schemas['ApiKeyResponse'];

/** The kinds of records, by the prefix of their ids. */
const PATHS = {
  agt: '/api/v1/agents/{id}',
  dec: '/api/v1/decisions/{id}',
  ent: '/api/v1/entities/{id}',
  ers: '/api/v1/erasures/{id}',
  exe: '/api/v1/executions/{id}',
  grt: '/api/v1/grants/{id}',
  key: '/api/v1/api-keys/{id}',
  pol: '/api/v1/policies/{id}',
  stp: '/api/v1/stops/{id}',
  whk: '/api/v1/webhooks/{id}',
} as const;

const AGENT_ID = /^agt_[0-9A-Z]{26}$/;

/** Scopes with which a key that is bound to nobody can act as anyone. */
const ACTING = ['execute', 'propose', 'review'];

/** The commands that list records, and show one. */
export function addRecordCommands(program: Command): void {
  addAgentCommands(program);
  const policies = addListCommand(program, 'policies', 'list policies, and work with policies as files');
  policies.option('--status <status>').option('--effect <effect>').option('--name <name>').option('--team <team>');
  policies.action((options: ListOptions) => list('/api/v1/policies', options, POLICY_COLUMNS));
  addPolicyFileCommands(policies);
  const executions = addListCommand(
    program,
    'executions',
    'list what agents requested, with the outcome, newest first',
  );
  executions
    .option('--agent-id <agent>')
    .option('--action <action>')
    .option('--outcome <outcome>')
    .option('--via <upstream>')
    .option('--team <team>');
  executions.action((options: ListOptions) =>
    list('/api/v1/executions', { ...options, order: 'desc' }, EXECUTION_COLUMNS),
  );
  addExecutionCommands(executions);
  const audit = addListCommand(program, 'audit', 'list the entries of the audit trail, newest first');
  audit
    .option('--agent-id <agent>')
    .option('--subject-id <id>')
    .option('--action <action>')
    .option('--outcome <outcome>');
  audit.option('--from <time>').option('--to <time>');
  audit.action((options: ListOptions) => list('/api/v1/audit', options, auditColumns));
  addKeyCommands(program);
  program
    .command('show <id>')
    .description('show one record by its id, as JSON; a decision as its reviewer has to see it')
    .option('--json', 'show a decision as JSON as well')
    .action(show);
}

function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('list, issue and revoke keys');
  addListCommand(keys, 'list', 'list all keys; the same as gov keys', { isDefault: true }).action(
    (options: ListOptions) => list('/api/v1/api-keys', options, keyColumns),
  );
  withChangeWait(keys.command('issue <name>'))
    .description('issue a key and print it as JSON; its secret is shown only this once')
    .requiredOption('--scopes <scopes>', 'what it may do, separated by commas, such as read,review')
    .option('--agent <agent>', 'the agent that it is bound to, by id or name')
    .option('--principals <patterns>', 'on whose behalf its agent may act, separated by commas, such as user:*')
    .option('--team <team>', 'the team whose records alone it writes and reads; then bound to no agent')
    .option('--expires-at <time>', 'when it ends, such as 2027-01-01T00:00:00Z')
    // The option has the name that every other command uses.
    .addOption(new Option('--json').hideHelp())
    .action(issue);
  keys.command('revoke <id>').description('revoke a key').option('--reason <text>', 'why').action(revoke);
}

async function show(id: string, { json }: { json?: boolean }): Promise<void> {
  const path = PATHS[id.slice(0, 3) as keyof typeof PATHS] as (typeof PATHS)[keyof typeof PATHS] | undefined;
  if (path === undefined) {
    throw new SettingsError(`"${id}" is not the id of a record: those begin with ${Object.keys(PATHS).join('_, ')}_.`);
  }
  if (path === PATHS.dec && json !== true) printCase(await caseOf(client(), id));
  else printJson(await client().get(path, { path: { id } }));
}

async function issue(
  name: string,
  {
    scopes,
    agent,
    principals,
    team,
    expiresAt,
  }: Record<'agent' | 'principals' | 'team' | 'expiresAt', string | undefined> & { scopes: string },
): Promise<void> {
  const body = {
    name,
    scopes: listed(scopes),
    ...(principals === undefined ? {} : { principals: listed(principals) }),
    ...(agent === undefined ? {} : { agentId: agent }),
    ...(team === undefined ? {} : { team }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  printJson(await client().post('/api/v1/api-keys', { body }));
  if (agent === undefined && team === undefined && body.scopes.some((scope) => ACTING.includes(scope)))
    printError('Warning: this key is bound to no agent: it may act as every agent. --agent binds it to one.');
}

async function revoke(id: string, { reason }: { reason?: string }): Promise<void> {
  const body = reason === undefined ? {} : { reason };
  const { status } = await client().post('/api/v1/api-keys/{id}/revoke', { path: { id }, body });
  if (status === 'active')
    throw new GovernanceError(`${id} is still active.`, { code: 'UNEXPECTED_ANSWER', status: 200 });
  printLine(`${id} is ${status}.`);
}

const POLICY_COLUMNS: Column<Schemas['PolicyResponse']>[] = [
  { title: 'POLICY', value: ({ id }) => id },
  { title: 'NAME', value: ({ name }) => name },
  { title: 'VERSION', value: ({ version }) => version },
  { title: 'STATUS', value: ({ status }) => status },
  { title: 'EFFECT', value: ({ effect }) => effect },
  { title: 'PRIORITY', value: ({ priority }) => String(priority) },
  { title: 'ACTIONS', value: ({ actions }) => actions.join(', ') },
];

const EXECUTION_COLUMNS: Column<Schemas['ExecutionResponse']>[] = [
  { title: 'TIME', value: ({ createdAt }) => createdAt },
  { title: 'EXECUTION', value: ({ id }) => id },
  { title: 'AGENT', value: ({ agentName }) => agentName },
  { title: 'ACTION', value: ({ action }) => action },
  { title: 'RESOURCE', value: ({ resourceType, resourceId }) => `${resourceType} ${resourceId}` },
  { title: 'OUTCOME', value: ({ outcome }) => outcome },
];

/** Adds names of agents and keys to their ids, if the key may read them. */
async function auditColumns(
  governance: GovernanceClient,
  entries: readonly AuditEntry[],
): Promise<readonly Column<AuditEntry>[]> {
  const sees = await seenBy(governance);
  const ids = entries.flatMap(({ subjectId, agentId, actor }) => [subjectId, agentId ?? '', actor.id]);
  const agents = ids.filter((id) => AGENT_ID.test(id));
  const hasKeys = ids.some((id) => id.startsWith('key_'));
  const names: AgentNames = new Map([
    ...(sees('read') ? await agentNames(governance, agents) : []),
    ...(hasKeys && sees('admin') ? await keyNames(governance) : []),
  ]);
  return [
    { title: 'TIME', value: ({ timestamp }) => timestamp },
    { title: 'ACTION', value: ({ action }) => action },
    { title: 'OUTCOME', value: ({ outcome }) => outcome },
    { title: 'SUBJECT', value: ({ subjectId }) => withName(subjectId, names) },
    { title: 'AGENT', value: ({ agentId }) => (agentId === null ? '' : withName(agentId, names)) },
    { title: 'ACTOR', value: ({ actor }) => `${actor.type} ${withName(actor.id, names)}` },
  ];
}

async function keyColumns(governance: GovernanceClient, keys: readonly ApiKey[]): Promise<readonly Column<ApiKey>[]> {
  const names = await readableNames(
    governance,
    keys.map(({ agentId }) => agentId),
  );
  return [
    { title: 'KEY', value: ({ id }) => id },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'SCOPES', value: ({ scopes }) => scopes.join(', ') },
    { title: 'AGENT', value: ({ agentId }) => (agentId === null ? '' : withName(agentId, names)) },
    { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt ?? '' },
  ];
}
