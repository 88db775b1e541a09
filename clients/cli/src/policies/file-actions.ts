import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  agentChanges,
  type AgentChange,
  testsForPlan,
  withTestResults,
  register,
  remainingWarnings,
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
import { requireConfirmation } from '../question.js';
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
  readonly team?: string;
}

export interface PlanOptions {
  readonly prune?: boolean;
  readonly team?: string;
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

/** The folder of policy files, unless another is named. */
const FOLDER = 'policies';
/** Exit code of a plan that changes something, for pipelines. */
const CHANGES = 2;

/** Writes the policies in force into files. */
export async function pull(folder: string, { force, team: teamOption }: PullOptions): Promise<void> {
  const governance = client();
  const team = teamOption ?? (await governance.get('/api/v1/me')).team;
  const takenNames = new Set<string>();
  const files: { path: string; text: string; omission: string | null }[] = [];
  for await (const policy of governance.pages('/api/v1/policies', { query: { status: 'active' } })) {
    // A set of policies belongs to one team, or to none.
    if (policy.team !== team) continue;
    const name = policyFileName(policy, takenNames);
    takenNames.add(name.toLowerCase());
    files.push({ path: join(folder, name), text: policyFileText(policy), omission: leftOut(policy) });
  }
  const changedFiles = files.filter(({ path, text }) => existsSync(path) && !hasText(path, text));
  if (changedFiles.length > 0 && force !== true) {
    const names = changedFiles.map(({ path }) => path).join(', ');
    throw new SettingsError(
      `Nothing was written, as these files differ from what is in force: ${plain(names)}. --force overwrites them.`,
    );
  }
  mkdirSync(folder, { recursive: true });
  for (const { path, text, omission } of files) {
    writeFileSync(path, text);
    if (omission !== null) printError(`${plain(path)}: ${omission}`);
  }
  printLine(`${counted(files.length, 'policy', 'policies')} written to ${folder}.`);
}

/** True if a file has the text, also with the line endings of Windows, which Git may have written. */
function hasText(path: string, text: string): boolean {
  return readFileSync(path, 'utf8').replaceAll('\r\n', '\n') === text;
}

/**
 * Checks the form of policy files, and warns of probable mistakes. @throws SettingsError with a line for each fault.
 */
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
  const { otherFiles } = set;
  if (otherFiles.length > 0) printError(`Not read, as no policy files: ${plain(otherFiles.join(', '))}.`);
  const faults = lintFaults(set);
  if (faults.length > 0) throw new SettingsError(...faults);
  return set;
}

/** Runs the tests of policy files; nothing is applied. */
export async function test(paths: readonly string[], { prune = false, team, json }: PlanOptions): Promise<void> {
  const set = wellFormed(paths);
  if (set.tests.length === 0) throw new SettingsError('There are no tests in these files.');
  const governance = client();
  const agents = await agentChanges(governance, set);
  const plan = await planOf(governance, set, { prune, agents, ...ofTeam(team) });
  if (json === true) printJson(shownPlan(set, plan, agents).tests);
  else printTests(set, plan);
  if (hasFailedTests(plan)) process.exitCode = 1;
}

/** Prints what applying policy files would change. */
export async function plan(paths: readonly string[], options: PlanOptions & ReplayOptions): Promise<void> {
  const { prune = false, json, markdown = false, all = false } = options;
  const set = wellFormed(paths);
  const governance = client();
  const agents = await agentChanges(governance, set);
  const plan = await planOf(governance, set, { prune, agents, ...ofTeam(options.team), ...replayOf(options) });
  const printedPlan = { ...shownPlan(set, plan, agents), base: baseOf(plan, agents) };
  if (json === true) printJson({ ...printedPlan, ...shownAgents(agents) });
  else await printPlan(governance, set, plan, { asMarkdown: markdown, all, agents });
  if (hasFailedTests(plan)) process.exitCode = 1;
  else if (isAnyChange(plan, agents)) process.exitCode = CHANGES;
}

/**
 * Brings policy files into force when their tests pass, with their agents in the same commit. If no policy changes, a
 * key without the scope for policies registers or changes each agent by itself.
 */
export async function apply(
  paths: readonly string[],
  { prune = false, team, base, yes, json, markdown = false, all = false }: ApplyOptions,
): Promise<void> {
  const set = wellFormed(paths);
  const governance = client();
  const agents = await agentChanges(governance, set);
  const plan = await planOf(governance, set, { prune, agents, ...ofTeam(team) });
  if (base !== undefined) requireBase(base, plan, agents);
  if (json !== true) await printPlan(governance, set, plan, { asMarkdown: markdown, all, agents });
  if (hasFailedTests(plan)) {
    const { tests } = shownPlan(set, plan, agents);
    if (json === true) printJson({ changes: [], policySet: plan.base, tests });
    throw new SettingsError('Nothing was applied: tests fail.');
  }
  if (!isAnyChange(plan, agents)) {
    if (json === true) printJson({ changes: plan.changes, policySet: plan.base, ...shownAgents(agents) });
    return;
  }
  const isTogether = await requireScopes(governance, { isOfPolicies: plan.changes.some(isChange), agents });
  if (yes !== true) await requireConfirmation('Apply?', 'Nothing was applied');
  requireBase(baseOf(plan, agents), plan, await agentChanges(governance, set));
  const applied = isTogether
    ? await applyTogether(governance, set, { plan, prune, agents, ...ofTeam(team) })
    : { changes: plan.changes, policySet: plan.base };
  if (!isTogether) {
    await register(governance, set, agents);
    await update(governance, set, agents);
  }
  if (json === true) printJson({ ...applied, ...shownAgents(agents) });
  else printLine(`\n${styled('green', 'Applied.')} The set in force is ${applied.policySet}.`);
}

interface AppliedPlan {
  readonly plan: Plan;
  readonly prune: boolean;
  readonly team?: string;
  readonly agents: readonly AgentChange[];
}

/** Brings policies and agents into force in one commit; the agents are left out if all of them stay as they are. */
function applyTogether(
  governance: GovernanceClient,
  set: PolicyFiles,
  { plan, prune, agents, team }: AppliedPlan,
): Promise<Schemas['AppliedPoliciesResponse']> {
  const hasAgents = agents.some(({ change }) => change !== 'keep');
  const declared = hasAgents ? { agents: agents.map(({ agent }) => agent) } : {};
  const body = { base: plan.base, policies: set.policies, prune, ...ofTeam(team), ...declared };
  return withExplanation(set, governance.post('/api/v1/policies/apply', { body }));
}

/** Returns the member of a request that names the team; without it, the team of the key counts. */
function ofTeam(team: string | undefined): { readonly team?: string } {
  return team === undefined ? {} : { team };
}

interface PlanOf extends Pick<PlanRequest, 'replay' | 'prune'> {
  readonly team?: string;
  readonly agents: readonly AgentChange[];
}

async function planOf(governance: GovernanceClient, set: PolicyFiles, { agents, ...request }: PlanOf): Promise<Plan> {
  const tests = set.tests.length === 0 ? {} : { tests: testsForPlan(set, agents) };
  const body = { policies: set.policies, ...request, ...tests };
  const answer = governance.post('/api/v1/policies/plan', { body });
  const withSuggestions = (faults: Faults): Promise<Faults> => withMeantAgents(governance, set, faults);
  const plan = withTestResults(set, agents, await withExplanation(set, answer, withSuggestions));
  return { ...plan, warnings: [...secondAgents(set, agents), ...remainingWarnings(set, plan.warnings, agents)] };
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

/**
 * Reports faults that the service finds with the file and line that they concern.
 * @param explain adds suggestions to the faults
 */
async function withExplanation<Answer>(
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
    throw new SettingsError(...(await explain(error.details)).map((fault) => set.withLocation(fault)));
  }
}

function hasFailedTests({ tests }: Plan): boolean {
  return tests !== undefined && tests.failed.length > 0;
}
