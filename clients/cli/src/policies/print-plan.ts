import { randomUUID } from 'node:crypto';
import { type ConditionInput, missingLines, nearText } from '../condition-text.js';
import { seenBy } from '../decision-text.js';
import { counted, plain, printLine, styled } from '../output.js';
import type { GovernanceClient, Schemas } from '../../../typescript/src/index.js';
import { type AgentChange, agentLines, areRightsChanged, UNLISTED_RIGHTS } from './file-agents.js';
import { baseOf } from './plan-base.js';
import { headlineLines } from './plan-headline.js';
import { isChange, listed, type PlanLine, planLines, planTitle, type Subject } from './plan-text.js';
import type { PolicyFiles } from './policy-files.js';
import { replayLines, shownExecutions } from './replay-text.js';

type Plan = Schemas['PolicyPlanResponse'];
type FailedTest = NonNullable<Plan['tests']>['failed'][number];
type Execution = Schemas['ExecutionResponse'];

/** Options of the printed form of a plan. */
export interface PrintOptions {
  readonly asMarkdown: boolean;
  readonly all: boolean;
  readonly agents: readonly AgentChange[];
}

/** Size and maximum number of the pages of agents that are read for their names, to save the rate limit. */
const MAX_PAGE_SIZE = 1_000;
const MAX_PAGES = 5;
/** Maximum number of policies that are named for a test that failed. */
const MAX_NEAREST = 3;

/**
 * Prints the plan for people, on a terminal or in a comment on a pull request, with its tests. With a key without
 * `read`, ids are shown instead of names.
 */
export async function printPlan(
  governance: GovernanceClient,
  set: PolicyFiles,
  plan: Plan,
  { asMarkdown, all, agents: changes }: PrintOptions,
): Promise<void> {
  const isReader = (await seenBy(governance))('read');
  const { agents, areAll } = isReader ? await agentsOf(governance, plan) : NO_AGENTS;
  const byDefault = isReader ? await defaultEffect(governance) : null;
  const subjectIds = plan.effects.flatMap(({ subjects }) => subjects);
  const everyone = areAll ? [...new Set([...agents.keys(), ...subjectIds])] : null;
  const subjectOf = (id: string): Subject => agents.get(id) ?? otherSubject(id, changes, all);
  const reader = { subjectOf, everyone, byDefault, all };
  const title = planTitle(plan, agentsTitle(changes), isReader ? await countInForce(governance) : null);
  const isAnyChange = plan.changes.some(isChange) || changes.some(({ change }) => change !== 'keep');
  const base = isAnyChange ? [{ mark: ' ', text: `Base: ${baseOf(plan, changes)}` } as const] : [];
  const { replay } = plan;
  const executionsById =
    replay !== undefined && isReader ? await findReplayed(governance, replay) : new Map<string, Execution>();
  const replayText = replay === undefined ? [] : replayLines(replay, executionsById);
  const planText = planLines(plan, reader, headlineLines(plan.effects, reader));
  const lines = [...agentLines(changes), ...planText, ...replayText, BLANK, ...testLines(set, plan), ...base];
  printLines(`Policies: ${title}`, lines, asMarkdown);
}

/** Prints lines with marks as in a diff, under a title. */
export function printLines(title: string, lines: readonly PlanLine[], asMarkdown: boolean): void {
  if (asMarkdown) printLine(`### ${title}\n\n${codeBlock(lines.map(diffLine).join('\n'))}\n`);
  else printLine([styled('bold', title), ...lines.map(styledLine)].join('\n'));
}

async function countInForce(governance: GovernanceClient): Promise<number> {
  return (await governance.get('/api/v1/policies', { query: { status: 'active', limit: 1 } })).total;
}

function agentsTitle(changes: readonly AgentChange[]): string[] {
  const verbs = { create: 'register', update: 'change' } as const;
  return (['create', 'update'] as const).flatMap((kind) => {
    const count = changes.filter(({ change }) => change === kind).length;
    return count === 0 ? [] : `${counted(count, 'agent')} to ${verbs[kind]}`;
  });
}

/** Prints the tests that failed, each with its place, and how many passed and failed. */
export function printTests(set: PolicyFiles, plan: Plan): void {
  for (const line of testLines(set, plan)) printLine(styledLine(line));
}

/** Returns the plan for JSON: each test that failed has its place in the files, because its index alone says little. */
export function shownPlan(set: PolicyFiles, servicePlan: Plan, agents: readonly AgentChange[]): Plan {
  const isAll = !servicePlan.complete || !areRightsChanged(agents);
  const plan = isAll ? servicePlan : { ...servicePlan, complete: false, reason: UNLISTED_RIGHTS };
  const { tests } = plan;
  if (tests === undefined) return plan;
  const failed = tests.failed.map((test) => ({ ...test, message: failureText(set, test) }));
  return { ...plan, tests: { ...tests, failed } };
}

function testLines(set: PolicyFiles, { tests }: Plan): PlanLine[] {
  if (tests === undefined) return [];
  const lines = tests.failed.flatMap((test): PlanLine[] => [
    { mark: '-', text: failureText(set, test) },
    ...nearestTexts(set, test).map((text): PlanLine => ({ mark: ' ', text: `  ${text}` })),
  ]);
  return [...lines, { mark: ' ', text: `Tests: ${tests.passed} passed, ${tests.failed.length} failed.` }];
}

function failureText(set: PolicyFiles, { index, expect, effect, reason, policies }: FailedTest): string {
  const decidingPolicies = policies.map(({ name, version }) => `${name} ${version}`).join(', ') || 'no policy';
  const expectedPolicy = set.tests[index]?.by;
  const expectation = `${expect}${expectedPolicy === undefined || expectedPolicy === null ? '' : ` by ${expectedPolicy}`}`;
  const message = `should be ${expectation}, and is ${effect} by ${decidingPolicies}${reason === null ? '' : ` (${reason})`}`;
  return set.withLocation({ field: `tests[${index}]`, message });
}

/**
 * Returns texts about policies that would improve the answer if one part matched, with that part of those in the files.
 */
function nearestTexts(set: PolicyFiles, { index, nearest = [] }: FailedTest): string[] {
  return nearest.slice(0, MAX_NEAREST).flatMap(({ policy: { name, version, effect }, missing }) => {
    const rules = set.policies.find((policy) => policy.name === name && policy.version === version);
    const lines = rules === undefined ? [] : missing.flatMap((part) => missingLines(part, rules, inputOf(set, index)));
    return [nearText({ name, version, effect }, missing), ...lines.map((line) => `  ${line}`)];
  });
}

/** Returns the parts of a test that conditions read; null counts as left out. */
function inputOf(set: PolicyFiles, index: number): ConditionInput {
  const { parameters, onBehalfOf, run, resourceId = '' } = set.tests[index] ?? {};
  return { resourceId, ...(parameters && { parameters }), ...(run && { run }), ...(onBehalfOf && { onBehalfOf }) };
}

const BLANK: PlanLine = { mark: ' ', text: '' };

/** Returns a code block with a fence that no name in the text can end. */
function codeBlock(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}diff\n${text}\n${fence}`;
}

interface KnownAgents {
  readonly agents: ReadonlyMap<string, Subject>;
  /** True if there are no others. */
  readonly areAll: boolean;
}

const NO_AGENTS: KnownAgents = { agents: new Map(), areAll: false };

/** Loads the agents that a plan names; all agents if it means everybody of a kind, to say who is excepted. */
async function agentsOf(governance: GovernanceClient, { effects }: Plan): Promise<KnownAgents> {
  const subjects = new Set(effects.flatMap((effect) => effect.subjects));
  const missingIds = new Set([...subjects].filter((subject) => subject.startsWith('agt_')));
  const areAllWanted = subjects.has('other:machine') || subjects.has('other:human');
  const agents = new Map<string, Subject>();
  let remaining = MAX_PAGE_SIZE * MAX_PAGES;
  if (missingIds.size === 0 && !areAllWanted) return NO_AGENTS;
  for await (const { id, name, kind } of governance.pages('/api/v1/agents', { query: { limit: MAX_PAGE_SIZE } })) {
    if (remaining === 0) return { agents, areAll: false };
    if (areAllWanted || missingIds.has(id)) agents.set(id, { name, kind });
    missingIds.delete(id);
    remaining -= 1;
    if (missingIds.size === 0 && !areAllWanted) break;
  }
  return { agents, areAll: areAllWanted };
}

/**
 * Returns a subject of a plan that is not registered, or whose name is not known.
 * @param changes of agents, in the same plan
 */
function otherSubject(id: string, changes: readonly AgentChange[], all: boolean): Subject {
  if (id === 'other:machine') return { name: 'machines that are not registered', kind: 'machine' };
  if (id === 'other:human') return { name: 'people who are not registered', kind: 'human' };
  const [, kind, name = ''] = /^other:(role|agent):([^]*)$/.exec(id) ?? [];
  if (kind === undefined) return { name: id, kind: null };
  if (kind === 'agent') {
    const isNew = changes.some(({ agent }) => agent.name === name);
    return { name: `${name} (${isNew ? 'registered here' : 'not registered yet'})`, kind: 'machine' };
  }
  const newHolders = changes.filter(({ agent }) => agent.roles.includes(name)).map(({ agent }) => agent.name);
  const holders = newHolders.length === 0 ? 'nobody has it yet' : `given here to ${listed(newHolders, all)}`;
  return { name: `role:${name} (${holders})`, kind: 'machine' };
}

/** Returns the effect if no policy matches; null if a policy matches every request. */
async function defaultEffect(governance: GovernanceClient): Promise<'allow' | 'deny' | null> {
  const nothing = randomUUID();
  const body = { subject: {}, action: nothing, resourceType: nothing, resourceId: nothing };
  const answer = await governance.post('/api/v1/policies/evaluate', { body });
  if ('results' in answer || answer.policies.length > 0 || answer.effect === 'require_approval') return null;
  return answer.effect;
}

/** Loads the recorded requests that are shown. */
async function findReplayed(
  governance: GovernanceClient,
  replay: NonNullable<Plan['replay']>,
): Promise<ReadonlyMap<string, Execution>> {
  const executionsById = new Map<string, Execution>();
  for (const id of shownExecutions(replay)) {
    executionsById.set(id, await governance.get('/api/v1/executions/{id}', { path: { id } }));
  }
  return executionsById;
}

/** Returns a line of a diff in Markdown, where `#` has no colour, and a line begins with its mark. */
function diffLine({ mark, text }: PlanLine): string {
  return mark === '#' || text === '' ? plain(text) : `${mark} ${plain(text)}`;
}

function styledLine({ mark, text }: PlanLine): string {
  const colours = { '+': 'green', '-': 'red', '!': 'yellow' } as const;
  if (mark === '#' || text === '') return styled('bold', plain(text));
  return mark === ' ' ? `  ${plain(text)}` : styled(colours[mark], `${mark} ${plain(text)}`);
}
