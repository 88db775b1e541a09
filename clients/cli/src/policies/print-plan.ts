import { randomUUID } from 'node:crypto';
import { missingLines, nearText } from '../condition-text.js';
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

/** How a plan is printed. */
export interface Printing {
  readonly asMarkdown: boolean;
  readonly all: boolean;
  readonly agents: readonly AgentChange[];
}

/** Pages of agents that are read for their names, to save the rate limit. */
const LONGEST_PAGE = 1_000;
const MOST_PAGES = 5;
/** Policies that are named for a test that failed. */
const MOST_NEAREST = 3;

/** The plan for people, on a terminal or in a comment on a pull request, with its tests. With a key without `read`, ids are shown instead of names. */
export async function printPlan(
  governance: GovernanceClient,
  set: PolicyFiles,
  planned: Plan,
  { asMarkdown, all, agents: changes }: Printing,
): Promise<void> {
  const isReader = (await seenBy(governance))('read');
  const { agents, areAll } = isReader ? await agentsOf(governance, planned) : NO_AGENTS;
  const byDefault = isReader ? await defaultEffect(governance) : null;
  const named = planned.effects.flatMap(({ subjects }) => subjects);
  const everyone = areAll ? [...new Set([...agents.keys(), ...named])] : null;
  const subjectOf = (id: string): Subject => agents.get(id) ?? otherSubject(id, changes, all);
  const reader = { subjectOf, everyone, byDefault, all };
  const title = planTitle(planned, agentsTitle(changes), isReader ? await countInForce(governance) : null);
  const isAnyChange = planned.changes.some(isChange) || changes.some(({ change }) => change !== 'keep');
  const base = isAnyChange ? [{ mark: ' ', text: `Base: ${baseOf(planned, changes)}` } as const] : [];
  const { replay } = planned;
  const asked = replay !== undefined && isReader ? await replayed(governance, replay) : new Map<string, Execution>();
  const replayText = replay === undefined ? [] : replayLines(replay, asked);
  const shown = planLines(planned, reader, headlineLines(planned.effects, reader));
  const lines = [...agentLines(changes), ...shown, ...replayText, BLANK, ...testLines(set, planned), ...base];
  if (asMarkdown) printLine(`### Policies: ${title}\n\n${fenced(lines.map(diffLine).join('\n'))}\n`);
  else printLine([styled('bold', `Policies: ${title}`), ...lines.map(styledLine)].join('\n'));
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

/** The tests that failed, each with its place, and how many there were. */
export function printTests(set: PolicyFiles, planned: Plan): void {
  for (const line of testLines(set, planned)) printLine(styledLine(line));
}

/** The plan as JSON: each test that failed with its place in the files, as its index alone says little. */
export function shownPlan(set: PolicyFiles, given: Plan, agents: readonly AgentChange[]): Plan {
  const isAll = !given.complete || !areRightsChanged(agents);
  const planned = isAll ? given : { ...given, complete: false, reason: UNLISTED_RIGHTS };
  const { tests } = planned;
  if (tests === undefined) return planned;
  const failed = tests.failed.map((test) => ({ ...test, message: failureText(set, test) }));
  return { ...planned, tests: { ...tests, failed } };
}

function testLines(set: PolicyFiles, { tests }: Plan): PlanLine[] {
  if (tests === undefined) return [];
  const failed = tests.failed.flatMap((test): PlanLine[] => [
    { mark: '-', text: failureText(set, test) },
    ...nearestTexts(set, test).map((text): PlanLine => ({ mark: ' ', text: `  ${text}` })),
  ]);
  return [...failed, { mark: ' ', text: `Tests: ${tests.passed} passed, ${tests.failed.length} failed.` }];
}

function failureText(set: PolicyFiles, { index, expect, effect, reason, policies }: FailedTest): string {
  const by = policies.map(({ name, version }) => `${name} ${version}`).join(', ') || 'no policy';
  const wanted = set.tests[index]?.by;
  const expected = `${expect}${wanted === undefined || wanted === null ? '' : ` by ${wanted}`}`;
  const message = `should be ${expected}, and is ${effect} by ${by}${reason === null ? '' : ` (${reason})`}`;
  return set.located({ field: `tests[${index}]`, message });
}

/** Policies that would improve the answer but for one part, with what those of the files have there. */
function nearestTexts(set: PolicyFiles, { index, nearest = [] }: FailedTest): string[] {
  return nearest.slice(0, MOST_NEAREST).flatMap(({ policy: { name, version, effect }, missing }) => {
    const rules = set.policies.find((policy) => policy.name === name && policy.version === version);
    const parameters = set.tests[index]?.parameters ?? {};
    const lines = rules === undefined ? [] : missing.flatMap((part) => missingLines(part, rules, parameters));
    return [nearText({ name, version, effect }, missing), ...lines.map((line) => `  ${line}`)];
  });
}

const BLANK: PlanLine = { mark: ' ', text: '' };

/** A name in the text must neither end the fence nor control a terminal. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}diff\n${text}\n${fence}`;
}

interface KnownAgents {
  readonly agents: ReadonlyMap<string, Subject>;
  /** Whether there are no others. */
  readonly areAll: boolean;
}

const NO_AGENTS: KnownAgents = { agents: new Map(), areAll: false };

/** The agents that a plan names; all, where it means everybody of a kind, to say whom that leaves out. */
async function agentsOf(governance: GovernanceClient, { effects }: Plan): Promise<KnownAgents> {
  const subjects = new Set(effects.flatMap((effect) => effect.subjects));
  const wanted = new Set([...subjects].filter((subject) => subject.startsWith('agt_')));
  const areAllWanted = subjects.has('other:machine') || subjects.has('other:human');
  const agents = new Map<string, Subject>();
  let left = LONGEST_PAGE * MOST_PAGES;
  if (wanted.size === 0 && !areAllWanted) return NO_AGENTS;
  for await (const { id, name, kind } of governance.pages('/api/v1/agents', { query: { limit: LONGEST_PAGE } })) {
    if (left === 0) return { agents, areAll: false };
    if (areAllWanted || wanted.has(id)) agents.set(id, { name, kind });
    wanted.delete(id);
    left -= 1;
    if (wanted.size === 0 && !areAllWanted) break;
  }
  return { agents, areAll: areAllWanted };
}

/** Whom a plan names who is not registered, or whose name is not known. @param changes of agents, in the same plan */
function otherSubject(id: string, changes: readonly AgentChange[], all: boolean): Subject {
  if (id === 'other:machine') return { name: 'machines that are not registered', kind: 'machine' };
  if (id === 'other:human') return { name: 'people who are not registered', kind: 'human' };
  const [, what, name = ''] = /^other:(role|agent):([^]*)$/.exec(id) ?? [];
  if (what === undefined) return { name: id, kind: null };
  if (what === 'agent') {
    const isNew = changes.some(({ agent }) => agent.name === name);
    return { name: `${name} (${isNew ? 'registered here' : 'not registered yet'})`, kind: 'machine' };
  }
  const given = changes.filter(({ agent }) => agent.roles.includes(name)).map(({ agent }) => agent.name);
  const whose = given.length === 0 ? 'nobody has it yet' : `given here to ${listed(given, all)}`;
  return { name: `role:${name} (${whose})`, kind: 'machine' };
}

/** What the service answers where no policy matches; null where one matches everything. */
async function defaultEffect(governance: GovernanceClient): Promise<'allow' | 'deny' | null> {
  const nothing = randomUUID();
  const body = { subject: {}, action: nothing, resourceType: nothing, resourceId: nothing };
  const answer = await governance.post('/api/v1/policies/evaluate', { body });
  if ('results' in answer || answer.policies.length > 0 || answer.effect === 'require_approval') return null;
  return answer.effect;
}

/** The recorded requests that are shown. */
async function replayed(
  governance: GovernanceClient,
  replay: NonNullable<Plan['replay']>,
): Promise<ReadonlyMap<string, Execution>> {
  const found = new Map<string, Execution>();
  for (const id of shownExecutions(replay)) {
    found.set(id, await governance.get('/api/v1/executions/{id}', { path: { id } }));
  }
  return found;
}

/** In the fence of a diff, `#` has no colour, and a line needs its mark at the beginning. */
function diffLine({ mark, text }: PlanLine): string {
  return mark === '#' || text === '' ? plain(text) : `${mark} ${plain(text)}`;
}

function styledLine({ mark, text }: PlanLine): string {
  const colours = { '+': 'green', '-': 'red', '!': 'yellow' } as const;
  if (mark === '#' || text === '') return styled('bold', plain(text));
  return mark === ' ' ? `  ${plain(text)}` : styled(colours[mark], `${mark} ${plain(text)}`);
}
