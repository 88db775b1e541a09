import { type Command, InvalidArgumentError } from 'commander';
import { changedNumberInJson, changedNumberText } from '../changed-number.js';
import { plain, printJson, printLine, styled } from '../output.js';
import { client } from '../settings.js';
import type { Schemas } from '../../../typescript/src/index.js';

export function addExplainCommand(program: Command): void {
  program
    .command('explain <agent> <action> <resourceType> <resourceId>')
    .description('what the policies say, and why; nothing is done. Exit code 1 where it is denied')
    .option('--parameters <json>', 'parameters of the action', jsonObject)
    .option('--json', 'the whole answer as JSON')
    .action(explain);
}

async function explain(
  agent: string,
  action: string,
  resourceType: string,
  resourceId: string,
  { parameters, json }: { parameters?: Record<string, unknown>; json?: boolean },
): Promise<void> {
  const body = { agent, action, resourceType, resourceId, explain: true, ...(parameters && { parameters }) };
  const answer = (await client().post('/api/v1/policies/evaluate', {
    body: body,
  })) as Schemas['EvaluationResponse'];
  if (json === true) printJson(answer);
  else printVerdict(answer);
  if (answer.effect === 'deny') process.exitCode = 1;
}

function printVerdict({ effect, reason, policies, approval, explanation }: Schemas['EvaluationResponse']): void {
  const colour = { allow: 'green', deny: 'red', require_approval: 'yellow' } as const;
  printLine(`${styled(colour[effect], effect)}${reason === null ? '' : ` (${reason})`}`);
  for (const { name, version, id } of policies) printLine(plain(`  decided by ${name} ${version} (${id})`));
  for (const { subjects, approvals } of approval?.approvers ?? [])
    printLine(plain(`  needs ${approvals} of ${subjects.join(', ')}`));
  for (const { policy, missing } of explanation?.nearest ?? []) {
    printLine(plain(`  ${policy.name} ${policy.version} would change it, but for its ${missing.join(', ')}`));
  }
}

function jsonObject(text: string): Record<string, unknown> {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError('It is a JSON object, such as {"amount": 80}.');
  }
  const changed = changedNumberInJson(text, 'parameters');
  if (changed !== undefined) throw new InvalidArgumentError(changedNumberText(changed));
  return value as Record<string, unknown>;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
