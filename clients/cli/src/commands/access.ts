import type { Command } from 'commander';
import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';
import { agentNames, withName } from '../agent-names.js';
import { groupText } from '../group-text.js';
import { grantText } from '../grant-text.js';
import { counted, plain, printJson, shownJson } from '../output.js';
import { accessLines } from '../policies/plan-headline.js';
import { line, type PlanLine, type PlanReader, section } from '../policies/plan-text.js';
import { printLines } from '../policies/print-plan.js';
import { client } from '../settings.js';

type Access = Schemas['AccessResponse'];
type Region = Access['allowed'][number];
type AccessPolicy = NonNullable<Region['because']['to']>[number];
type Effect = Schemas['PlannedEffectResponse'];

interface AccessOptions {
  readonly asOf?: string;
  readonly since?: string;
  readonly markdown?: boolean;
  readonly json?: boolean;
}

/** Stands for the default effect in a list of policies. */
const BY_DEFAULT = { id: null, name: 'the default effect', version: '' };

export function addAccessCommand(program: Command): void {
  program
    .command('access <agent>')
    .description('show what an agent may do: by itself, and once somebody approves it')
    .option('--as-of <time>', 'as it was at this date (UTC), time with a zone, or sequence of an entry')
    .option('--since <time>', 'and what has come and gone since then')
    .option('--markdown', 'as Markdown, for a comment or a report')
    .option('--json', 'the answer as JSON')
    .action(showAccess);
}

async function showAccess(
  idOrName: string,
  { asOf, since, markdown = false, json = false }: AccessOptions,
): Promise<void> {
  const governance = client();
  const query = { ...(asOf !== undefined && { asOf }), ...(since !== undefined && { since }) };
  const access = await governance.get('/api/v1/agents/{id}/access', { path: { id: idOrName }, query });
  if (json) {
    printJson(access);
    return;
  }
  const { agentId, reviewedBy } = access;
  const names = await agentNames(governance, [agentId, ...(reviewedBy === null ? [] : [reviewedBy])]);
  const name = names.get(agentId) ?? agentId;
  const reviewer = reviewedBy === null ? null : withName(reviewedBy, names);
  const title = `What ${plain(name)} may do${asOf === undefined ? '' : `, as of ${plain(asOf)}`}`;
  const teams = await teamLines(governance, agentId, query);
  printLines(title, [...teams, ...regionLines(access, name), ...besideLines(access, reviewer)], markdown);
}

/**
 * Returns lines about the team whose policies apply at that time, and about the earlier team if it was another; none
 * for an agent without a team.
 */
async function teamLines(
  governance: GovernanceClient,
  agentId: string,
  { asOf, since }: Pick<AccessOptions, 'asOf' | 'since'>,
): Promise<PlanLine[]> {
  const team = await teamOf(governance, agentId, asOf);
  const before = since === undefined ? team : await teamOf(governance, agentId, since);
  const moved = before === undefined || before === team ? '' : `; ${teamText(before)} at ${String(since)}`;
  return (team ?? null) === null && moved === '' ? [] : [line(' ', `It is ${teamText(team)}${moved}.`)];
}

/** Returns the team of an agent at a time; null if it had none, undefined if the agent did not exist. */
async function teamOf(
  governance: GovernanceClient,
  id: string,
  asOf: string | undefined,
): Promise<string | null | undefined> {
  try {
    const query = asOf === undefined ? {} : { asOf };
    return (await governance.get('/api/v1/agents/{id}', { path: { id }, query })).team;
  } catch (error) {
    if (error instanceof GovernanceError && error.status === 404) return undefined;
    throw error;
  }
}

function teamText(team: string | null | undefined): string {
  return (team ?? null) === null ? 'in no team' : `in the team ${String(team)}`;
}

function regionLines(access: Access, name: string): PlanLine[] {
  const { agentId, allowed, withApproval, changes, complete, reason } = access;
  const subjectOf = (): ReturnType<PlanReader['subjectOf']> => ({ name, kind: null });
  const reader: PlanReader = { subjectOf, everyone: null, byDefault: 'deny', all: true };
  const regions = [...allowed, ...withApproval];
  const subjects = [agentId];
  const effects = regions.map((region) => effectOf(region, subjects));
  const changedEffects = changes?.map((change) => ({ ...change, subjects }));
  return [
    ...(effects.length === 0 ? [line(' ', 'Nothing.')] : accessLines(effects, reader)),
    ...(reason === undefined ? [] : [line('!', complete ? reason : `This is not all: ${reason}`)]),
    ...policyLines(regions),
    ...(changedEffects === undefined ? [] : section('What has come and gone:')),
    ...(changedEffects?.length === 0 ? [line(' ', 'Nothing.')] : accessLines(changedEffects ?? [], reader)),
  ];
}

/** Returns a region as the effect of a plan before which nothing is allowed. */
function effectOf({ because, ...region }: Region, subjects: string[]): Effect {
  const to = because.to ?? [BY_DEFAULT];
  return { ...region, subjects, from: { effect: 'deny' }, because: { from: [], to } };
}

/** Lists each condition of the policies once; policies that always match have none. */
function policyLines(regions: readonly Region[]): PlanLine[] {
  const policies = new Map(regions.flatMap(({ because }) => (because.to ?? []).map((policy) => [policy.id, policy])));
  const lines = [...policies.values()].flatMap((policy) => {
    const texts = dependencyTexts(policy);
    return texts.length === 0 ? [] : line(' ', `${policy.name} ${policy.version}: ${texts.join('; ')}`);
  });
  return lines.length === 0
    ? []
    : [...section('What these policies depend on, which is not evaluated here:'), ...lines];
}

function dependencyTexts({ conditions, limits, onBehalfOf, approvers }: AccessPolicy): string[] {
  return [
    ...conditions.map(({ parameter, op, value, ...others }) =>
      parameter !== undefined && Object.keys(others).length === 0
        ? `where ${parameter} ${op} ${shownJson(value)}`
        : `where ${shownJson({ ...(parameter !== undefined && { parameter }), ...others, op, value })}`,
    ),
    ...limits.map(
      ({ max, of, per, by }) => `at most ${max} ${of === undefined ? 'executions' : `of ${of}`} a ${per}, by ${by}`,
    ),
    ...(onBehalfOf === null ? [] : [`on behalf of ${onBehalfOf.join(', ')}`]),
    ...(approvers.length === 0 ? [] : [`approved by ${approvers.map(groupText).join(' and ')}`]),
  ];
}

function besideLines(
  { stops, grants, observeUntil, reviewedAt, revision }: Access,
  reviewer: string | null,
): PlanLine[] {
  return [
    line(' ', ''),
    ...stops.map(({ id, reason }) => line('!', `Stopped by ${id}: ${reason}`)),
    ...(grants.length === 0 ? [] : [line(' ', `${counted(grants.length, 'grant')} in force:`)]),
    ...grants.map((grant) => line(' ', `  ${grant.id} until ${grant.until}: ${grantText(grant)}`)),
    ...(observeUntil === null
      ? []
      : [line('!', `Observed until ${observeUntil}: what no policy allows is let through, and noted.`)]),
    line(
      ' ',
      `Revision ${revision}. ${reviewer === null ? 'Nobody has reviewed this.' : `Last reviewed by ${reviewer} at ${String(reviewedAt)}.`}`,
    ),
  ];
}
