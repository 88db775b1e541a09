import type { Command } from 'commander';
import { type ConditionInput, matchedConditions, missingLines, nearText } from '../condition-text.js';
import { isCovering, MAX_STOPS } from '../covering-stops.js';
import { seenBy } from '../decision-text.js';
import { jsonObject } from '../json-option.js';
import { plain, printJson, printLine, styled } from '../output.js';
import { type PrincipalOptions, withPrincipalOptions } from '../principal-options.js';
import { client } from '../settings.js';
import type { GovernanceClient, Schemas } from '../../../typescript/src/index.js';
import { limitTexts } from '../../../typescript/src/limit-text.js';
import { groupText } from '../group-text.js';

/** Maximum number of policies that are looked up, to save the rate limit. */
const MAX_LOOKUPS = 5;

export function addExplainCommand(program: Command): void {
  const command = program
    .command('explain <agent> <action> <resourceType> <resourceId>')
    .description('show how the policies answer a request, and why; changes nothing. Exit code 1 if it is denied')
    .option('--parameters <json>', 'parameters of the action', jsonObject);
  withPrincipalOptions(command).option('--json', 'the whole answer as JSON').action(explain);
}

async function explain(
  agent: string,
  action: string,
  resourceType: string,
  resourceId: string,
  { parameters, json, ...forWhom }: { parameters?: Record<string, unknown>; json?: boolean } & PrincipalOptions,
): Promise<void> {
  const body = {
    agent,
    action,
    resourceType,
    resourceId,
    explain: true,
    ...forWhom,
    ...(parameters && { parameters }),
  };
  const governance = client();
  const answer = (await governance.post('/api/v1/policies/evaluate', {
    body: body,
  })) as Schemas['EvaluationResponse'];
  if (json === true) printJson(answer);
  else {
    await printVerdict(governance, answer, body);
    await printRefusal(governance, answer, body);
    await printNearest(governance, answer, body);
  }
  if (answer.effect === 'deny') process.exitCode = 1;
}

async function printVerdict(
  governance: GovernanceClient,
  { effect, reason, policies, approval, grantId }: Schemas['EvaluationResponse'],
  input: ConditionInput,
): Promise<void> {
  const isRestricted = policies.length > 0 && effect !== 'allow';
  const isReader = isRestricted && (await seenBy(governance))('read');
  const colour = { allow: 'green', deny: 'red', require_approval: 'yellow' } as const;
  printLine(`${styled(colour[effect], effect)}${reason === null ? '' : ` (${reason})`}`);
  for (const [index, { name, version, id }] of policies.entries()) {
    printLine(plain(`  decided by ${name} ${version} (${id})`));
    if (isReader && index < MAX_LOOKUPS) await printRules(governance, id, input);
  }
  if (grantId !== undefined) printLine(plain(`  approved before, by the grant ${grantId}: gov show ${grantId}`));
  for (const group of approval?.approvers ?? []) printLine(plain(`  needs ${groupText(group)}`));
}

/**
 * Prints the description of a policy that restricts, and the values that its conditions saw, which the response lacks.
 */
async function printRules(governance: GovernanceClient, id: string, input: ConditionInput): Promise<void> {
  const { description, conditions } = await governance.get('/api/v1/policies/{id}', { path: { id }, query: {} });
  const text = description.trim().replace(/\s+/g, ' ');
  if (text !== '') printLine(plain(`    ${text}`));
  for (const condition of matchedConditions(conditions, input)) printLine(plain(`    ${condition}`));
}

/** Prints what refuses the action before any policy: the stop, or the capabilities of the agent. */
async function printRefusal(
  governance: GovernanceClient,
  { reason }: Schemas['EvaluationResponse'],
  { agent: name, action }: { readonly agent: string; readonly action: string },
): Promise<void> {
  if (!(reason === 'stopped' || reason === 'capability_missing') || !(await seenBy(governance))('read')) return;
  const agent = await governance.get('/api/v1/agents/{id}', { path: { id: name }, query: {} });
  if (reason === 'capability_missing') {
    const able = agent.capabilities.join(', ') || 'nothing';
    printLine(plain(`  ${agent.name} is not capable of ${action}, but of ${able}`));
    return;
  }
  const { data } = await governance.get('/api/v1/stops', { query: { status: 'active', limit: MAX_STOPS } });
  const coveringStops = data.filter((stop) => isCovering(stop, agent, action));
  for (const { id, reason: why } of coveringStops) printLine(plain(`  stopped by ${id}: ${why}`));
}

/**
 * Prints policies that fail in one part, with the contents of that part; of conditions, those that fail and the value
 * that they saw.
 */
async function printNearest(
  governance: GovernanceClient,
  { explanation }: Schemas['EvaluationResponse'],
  input: ConditionInput,
): Promise<void> {
  const nearest = explanation?.nearest ?? [];
  for (const text of explanation === undefined ? [] : limitTexts(explanation)) printLine(plain(`  ${text}`));
  const isReader = nearest.length > 0 && (await seenBy(governance))('read');
  for (const [index, { policy, missing }] of nearest.entries()) {
    const { id } = policy;
    const [part] = missing;
    printLine(plain(`  ${nearText(policy, missing)}`));
    if (!isReader || part === undefined || index >= MAX_LOOKUPS) continue;
    const whole = await governance.get('/api/v1/policies/{id}', { path: { id }, query: {} });
    for (const line of missingLines(part, whole, input)) printLine(plain(`    ${line}`));
  }
}
