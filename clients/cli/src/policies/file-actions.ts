import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lintFaults } from './lint.js';
import { isChange } from './plan-text.js';
import { type PolicyFiles, readPolicyFiles } from './policy-files.js';
import { printPlan, printTests, shownPlan } from './print-plan.js';
import { policyFileName, policyFileText } from './pulled-policy.js';
import { counted, plain, printError, printJson, printLine, styled } from '../output.js';
import { isConfirmed } from '../question.js';
import { client, SettingsError } from '../settings.js';
import { type GovernanceClient, GovernanceError, type Schemas } from '../../../typescript/src/index.js';

type Plan = Schemas['PolicyPlanResponse'];
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
  const files: { path: string; text: string }[] = [];
  for await (const policy of client().pages('/api/v1/policies', { query: { status: 'active' } })) {
    const name = policyFileName(policy, taken);
    taken.add(name.toLowerCase());
    files.push({ path: join(folder, name), text: policyFileText(policy) });
  }
  const others = files.filter(({ path, text }) => existsSync(path) && !hasText(path, text));
  if (others.length > 0 && force !== true) {
    const names = others.map(({ path }) => path).join(', ');
    throw new SettingsError(
      `Nothing was written, as these files differ from what is in force: ${plain(names)}. --force overwrites them.`,
    );
  }
  mkdirSync(folder, { recursive: true });
  for (const { path, text } of files) writeFileSync(path, text);
  printLine(`${counted(files.length, 'policy', 'policies')} written to ${folder}.`);
}

/** Git may have checked it out with the line endings of Windows. */
function hasText(path: string, text: string): boolean {
  return readFileSync(path, 'utf8').replaceAll('\r\n', '\n') === text;
}

/** @throws SettingsError with a line for each fault. */
export function lint(paths: readonly string[]): void {
  const { files, policies, tests } = wellFormed(paths);
  const counts = [
    counted(files.length, 'file'),
    counted(policies.length, 'policy', 'policies'),
    counted(tests.length, 'test'),
  ];
  printLine(`${counts.join(', ')}: well-formed.`);
}

function wellFormed(paths: readonly string[]): PolicyFiles {
  const set = readPolicyFiles(paths.length === 0 ? [FOLDER] : paths);
  const { others } = set;
  if (others.length > 0) printError(`Not read, as no policy files: ${plain(others.join(', '))}.`);
  const faults = lintFaults(set);
  if (faults.length > 0) throw new SettingsError(faults.map(plain).join('\n'));
  return set;
}

/** Runs the tests of policy files; nothing is applied. */
export async function test(paths: readonly string[], { prune = false, json }: PlanOptions): Promise<void> {
  const set = wellFormed(paths);
  if (set.tests.length === 0) throw new SettingsError('There are no tests in these files.');
  const planned = await planOf(client(), set, prune);
  if (json === true) printJson(shownPlan(set, planned).tests);
  else printTests(set, planned);
  if (hasFailedTests(planned)) process.exitCode = 1;
}

/** Prints what applying policy files would change. */
export async function plan(paths: readonly string[], options: PlanOptions & ReplayOptions): Promise<void> {
  const { prune = false, json, markdown = false, all = false } = options;
  const set = wellFormed(paths);
  const governance = client();
  const planned = await planOf(governance, set, prune, replayOf(options));
  if (json === true) printJson(shownPlan(set, planned));
  else await printPlan(governance, set, planned, { asMarkdown: markdown, all });
  if (hasFailedTests(planned)) process.exitCode = 1;
  else if (planned.changes.some(isChange)) process.exitCode = CHANGES;
}

/** Brings policy files into force when their tests pass. */
export async function apply(
  paths: readonly string[],
  { prune = false, base, yes, json, markdown = false, all = false }: ApplyOptions,
): Promise<void> {
  const set = wellFormed(paths);
  const governance = client();
  const planned = await planOf(governance, set, prune);
  if (base !== undefined && base !== planned.base) throw new SettingsError(NO_LONGER);
  if (json !== true) await printPlan(governance, set, planned, { asMarkdown: markdown, all });
  if (hasFailedTests(planned)) {
    const { tests } = shownPlan(set, planned);
    if (json === true) printJson({ changes: [], policySet: planned.base, tests });
    throw new SettingsError('Nothing was applied: tests fail.');
  }
  if (!planned.changes.some(isChange)) {
    if (json === true) printJson({ changes: planned.changes, policySet: planned.base });
    return;
  }
  if (yes !== true && !(await isWanted())) throw new SettingsError('Nothing was applied.');
  const body = { base: planned.base, policies: set.policies, prune };
  const applied = await explained(set, governance.post('/api/v1/policies/apply', { body }));
  if (json === true) printJson(applied);
  else printLine(`\n${styled('green', 'Applied.')} The set in force is ${applied.policySet}.`);
}

const NO_LONGER =
  'Nothing was applied: the policies in force are no longer those of the plan. Plan again, and look at it.';

async function planOf(
  governance: GovernanceClient,
  set: PolicyFiles,
  prune: boolean,
  replay: Pick<PlanRequest, 'replay'> = {},
): Promise<Plan> {
  const tests = set.tests.length === 0 ? {} : { tests: set.tests };
  const body = { policies: set.policies, prune, ...tests, ...replay };
  return explained(set, governance.post('/api/v1/policies/plan', { body }));
}

function replayOf({ replay, from, to }: ReplayOptions): Pick<PlanRequest, 'replay'> {
  if (replay !== true) return {};
  return { replay: { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) } };
}

/** Faults that the service finds are reported with the file and line that they concern. */
async function explained<Answer>(set: PolicyFiles, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof GovernanceError)) throw error;
    if (error.status === 412) throw new SettingsError(NO_LONGER);
    if (error.details.length === 0) throw error;
    throw new SettingsError(error.details.map((fault) => plain(set.located(fault))).join('\n'));
  }
}

function hasFailedTests({ tests }: Plan): boolean {
  return tests !== undefined && tests.failed.length > 0;
}

async function isWanted(): Promise<boolean> {
  if (!process.stdin.isTTY) throw new SettingsError('Nothing was applied: without a terminal, --yes has to be given.');
  return isConfirmed('Apply? [y/N] ');
}
