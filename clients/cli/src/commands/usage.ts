import type { Command } from 'commander';
import { type AgentNames, agentNames, withName } from '../agent-names.js';
import { type Column, printJson, printLine, printTable } from '../output.js';
import { client, SettingsError } from '../settings.js';
import type { GovernanceClient, Schemas } from '../../../typescript/src/index.js';

type UsedLimit = Schemas['UsedLimitResponse'];
/** Characters that are shown of the digest of a request. */
const KEY_LENGTH = 8;

type Limits = Schemas['PolicyResponse']['limits'];

/** Maximum number of rows that are shown. */
const MAX_ROWS = 100;
const ID = /^pol_[0-9A-Z]{26}$/;

export function addUsageCommand(program: Command): void {
  program
    .command('usage <policy>')
    .description(
      'show how much of the limits of a policy is used now, the fullest first; by id, or by name if it is in force',
    )
    .option('--json', 'the answer as JSON')
    .action(usage);
}

async function usage(idOrName: string, { json }: { readonly json?: boolean }): Promise<void> {
  const governance = client();
  const { id, limits } = await policyOf(governance, idOrName);
  const answer = await governance.get('/api/v1/policies/{id}/usage', { path: { id }, query: { limit: MAX_ROWS } });
  if (json === true) printJson(answer);
  else if (limits.length === 0) printLine('The policy has no limits.');
  else {
    const ids = answer.data.map(({ key, limit }) => (limits[limit]?.by === 'agent' ? key : null));
    printTable(answer.data, columnsOf(limits, await agentNames(governance, ids)), answer.total);
  }
}

async function policyOf(governance: GovernanceClient, idOrName: string): Promise<Schemas['PolicyResponse']> {
  if (ID.test(idOrName)) return governance.get('/api/v1/policies/{id}', { path: { id: idOrName } });
  const { data } = await governance.get('/api/v1/policies', { query: { name: idOrName, status: 'active' } });
  const [policy] = data;
  if (policy === undefined) throw new SettingsError(`No policy named "${idOrName}" is in force.`);
  return policy;
}

function columnsOf(limits: Limits, names: AgentNames): readonly Column<UsedLimit>[] {
  return [
    { title: 'LIMIT', value: ({ limit }) => `[${limit}] ${limitText(limits[limit])}` },
    { title: 'FOR', value: ({ key, limit }) => whoseText(key, limits[limit], names) },
    { title: 'USED', value: ({ used, max }) => `${used} of ${max}` },
    { title: 'UNTIL', value: ({ resetsAt }) => resetsAt },
  ];
}

function whoseText(key: string | null, limit: Limits[number] | undefined, names: AgentNames): string {
  if (key === null) return 'all';
  return limit?.by === 'request' ? `equal requests ${key.slice(0, KEY_LENGTH)}…` : withName(key, names);
}

function limitText(limit: Limits[number] | undefined): string {
  if (limit === undefined) return '';
  return `${limit.of ?? 'executions'} a ${limit.per}${limit.zone === undefined ? '' : ` in ${limit.zone}`}`;
}
