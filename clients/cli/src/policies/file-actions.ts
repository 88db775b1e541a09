import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  agentChanges,
  type AgentChange,
  askedTests,
  judged,
  register,
  remaining,
  secondAgents,
  update,
} from './file-agents.js';
import { baseOf, NO_LONGER, requireBase, requireScopes } from './plan-base.js';
import { lintFaults } from './lint.js';
import { lintWarnings } from './lint-warnings.js';
import { withMeantAgents } from './meant-agents.js';
import { isChange } from './plan-text.js';
import { type PolicyFiles, readPolicyFiles } from './policy-files.js';
import { printPlan, printTests, shownPlan } from './print-plan.js';
import { leftOut, policyFileName, policyFileText } from './pulled-policy.js';
import { counted, plain, printError, printJson, printLine, styled } from '../output.js';
import { requireWanted } from '../question.js';
import { client, SettingsError } from '../settings.js';
import {
  type FieldFault,
  type GovernanceClient,
  GovernanceError,
  type Schemas,
} from '../../../typescript/src/index.js';

type Plan = Schemas['PolicyPlanResponse'];
type Faults = readonly FieldFault[];
type PlanRequest = Schemas['PlanPoliciesRequest'];

export interface PullOptions {
  readonly force?: boolean;
}

export interface PlanOptions {
  readonly prune?: boolean;
  readonly json?: boolean;
  readonly markdown?: boolean;
  readonly all?: boolean;
}

export interface ReplayOptions {
  readonly replay?: boolean;
  readonly from?: string;
  readonly to?: string;
}

export interface ApplyOptions extends PlanOptions {
  readonly base?: string;
  readonly yes?: boolean;
}

/** Of policy files, unless another is named. */
const FOLDER = 'policies';
/** A plan that changes something, for pipelines. */
const CHANGES = 2;

/** Writes the policies in force into files. */
export async function pull(folder: string, { force }: PullOptions): Promise<void> {
  const taken = new Set<string>();
  const files: { path: string; text: string; left: string | null }[] = [];
  for await (const policy of client().pages('/api/v1/policies', { query: { status: 'active' } })) {
    const name = policyFileName(policy, taken);
    taken.add(name.toLowerCase());
    files.push({ path: join(folder, name), text: policyFileText(policy), left: leftOut(policy) });
  }
  const others = files.filter(({ path, text }) => existsSync(path) && !hasText(path, text));
  if (others.length > 0 && force !== true) {
    const names = others.map(({ path }) => path).join(', ');
    throw new SettingsError(
      `Nothing was written, as these files differ from what is in force: ${plain(names)}. --force overwrites them.`,
    );
  }
  mkdirSync(folder, { recursive: true });
  for (const { path, text, left } of files) {
    writeFileSync(path, text);
    if (left !== null) printError(`${plain(path)}: ${left}`);
  }
  printLine(`${counted(files.length, 'policy', 'policies')} written to ${folder}.`);
}

/** Git may have checked it out with the line endings of Windows. */
function hasText(path: string, text: string): boolean {
  return readFileSync(path, 'utf8').replaceAll('\r\n', '\n') === text;
}

/** Warns of what is probably not meant. @throws SettingsError with a line for each fault. */
export function lint(paths: readonly string[]): void {
  const set = wellFormed(paths);
  const { files, policies, tests, agents } = set;
  for (const warning of lintWarnings(set)) printError(`Warning: ${plain(warning)}`);
  const counts = [
    counted(files.length, 'file'),
    counted(policies.length, 'policy', 'policies'),
    counted(tests.length, 'test'),
    ...(agents.length > 0 ? [counted(agents.length, 'agent')] : []),
  ];
  printLine(`${counts.join(', ')}: well-formed.`);
}

function wellFormed(paths: readonly string[]): PolicyFiles {
  const set = readPolicyFiles(paths.length === 0 ? [FOLDER] : paths);
  const { others } = set;
  if (others.length > 0) printError(`Not read, as no policy files: ${plain(others.join(', '))}.`);
  const faults = lintFaults(set);
  if (faults.length > 0) throw new SettingsError(...faults);
  return set;
}

/** Runs the tests of policy files; nothing is applied. */
export async function test(paths: readonly string[], { prune = false, json }: PlanOptions): Promise<void> {
  const set = wellFormed(paths);
  if (set.tests.length === 0) throw new SettingsError('There are no tests in these files.');
  const governance = client();
  const agents = await agentChanges(governance, set);
  const planned = await planOf(governance, set, { prune, agents });
  if (json === true) printJson(shownPlan(set, planned, agents).tests);
  else printTests(set, planned);
  if (hasFailedTests(planned)) process.exitCode = 1;
}

/** Prints what applying policy files would change. */
export async function plan(paths: readonly string[], options: PlanOptions & ReplayOptions): Promise<void> {
  const { prune = false, json, markdown = false, all = false } = options;
  const set = wellFormed(paths);
  const governance = client();
  const agents = await agentChanges(governance, set);
  const planned = await planOf(governance, set, { prune, agents, ...replayOf(options) });
  const shown = { ...shownPlan(set, planned, agents), base: baseOf(planned, agents) };
  if (json === true) printJson({ ...shown, ...shownAgents(agents) });
  else await printPlan(governance, set, planned, { asMarkdown: markdown, all, agents });
  if (hasFailedTests(planned)) process.exitCode = 1;
  else if (isAnyChange(planned, agents)) process.exitCode = CHANGES;
}

/**
 * Brings policy files into force when their tests pass. Agents are registered before the policies that name them, and
 * changed after those that say what their new roles may do.
 */
export async function apply(
  paths: readonly string[],
  { prune = false, base, yes, json, markdown = false, all = false }: ApplyOptions,
): Promise<void> {
  const set = wellFormed(paths);
  const governance = client();
  const agents = await agentChanges(governance, set);
  const planned = await planOf(governance, set, { prune, agents });
  if (base !== undefined) requireBase(base, planned, agents);
  if (json !== true) await printPlan(governance, set, planned, { asMarkdown: markdown, all, agents });
  if (hasFailedTests(planned)) {
    const { tests } = shownPlan(set, planned, agents);
    if (json === true) printJson({ changes: [], policySet: planned.base, tests });
    throw new SettingsError('Nothing was applied: tests fail.');
  }
  if (!isAnyChange(planned, agents)) {
    if (json === true) printJson({ changes: planned.changes, policySet: planned.base, ...shownAgents(agents) });
    return;
  }
  await requireScopes(governance, { isOfPolicies: planned.changes.some(isChange), agents });
  if (yes !== true) await requireWanted('Apply?', 'Nothing was applied');
  const body = { base: planned.base, policies: set.policies, prune };
  await register(governance, set, agents);
  const applied = planned.changes.some(isChange)
    ? await explained(set, governance.post('/api/v1/policies/apply', { body }))
    : { changes: planned.changes, policySet: planned.base };
  await update(governance, set, agents).catch((error: unknown) => {
    throw error instanceof SettingsError
      ? new SettingsError(...`The policies are applied. ${error.message}`.split('\n'))
      : error;
  });
  if (json === true) printJson({ ...applied, ...shownAgents(agents) });
  else printLine(`\n${styled('green', 'Applied.')} The set in force is ${applied.policySet}.`);
}

interface PlanOf extends Pick<PlanRequest, 'replay' | 'prune'> {
  readonly agents: readonly AgentChange[];
}

async function planOf(governance: GovernanceClient, set: PolicyFiles, { agents, ...request }: PlanOf): Promise<Plan> {
  const tests = set.tests.length === 0 ? {} : { tests: askedTests(set, agents) };
  const body = { policies: set.policies, ...request, ...tests };
  const answer = governance.post('/api/v1/policies/plan', { body });
  const meant = (faults: Faults): Promise<Faults> => withMeantAgents(governance, set, faults);
  const planned = judged(set, agents, await explained(set, answer, meant));
  return { ...planned, warnings: [...secondAgents(set, agents), ...remaining(set, planned.warnings, agents)] };
}

function isAnyChange({ changes }: Plan, agents: readonly AgentChange[]): boolean {
  return changes.some(isChange) || agents.some(({ change }) => change !== 'keep');
}

function shownAgents(agents: readonly AgentChange[]): object {
  return agents.length === 0 ? {} : { agents: agents.map(({ change, agent }) => ({ change, ...agent })) };
}

function replayOf({ replay, from, to }: ReplayOptions): Pick<PlanRequest, 'replay'> {
  if (replay !== true) return {};
  return { replay: { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) } };
}

/** Faults that the service finds are reported with the file and line that they concern. @param explain what it says of them */
async function explained<Answer>(
  set: PolicyFiles,
  answer: Promise<Answer>,
  explain: (faults: Faults) => Promise<Faults> | Faults = (faults) => faults,
): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof GovernanceError)) throw error;
    if (error.status === 412) throw new SettingsError(NO_LONGER);
    if (error.details.length === 0) throw error;
    throw new SettingsError(...(await explain(error.details)).map((fault) => set.located(fault)));
  }
}

function hasFailedTests({ tests }: Plan): boolean {
  return tests !== undefined && tests.failed.length > 0;
}
