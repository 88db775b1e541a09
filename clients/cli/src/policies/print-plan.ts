import { randomUUID } from 'node:crypto';
import { seenBy } from '../decision-text.js';
import { plain, printLine, styled } from '../output.js';
import type { GovernanceClient, Schemas } from '../../../typescript/src/index.js';
import { headlineLines } from './plan-headline.js';
import { isChange, type PlanLine, planLines, planTitle, type Subject } from './plan-text.js';
import type { PolicyFiles } from './policy-files.js';
import { replayLines, shownExecutions } from './replay-text.js';

type Plan = Schemas['PolicyPlanResponse'];
type FailedTest = NonNullable<Plan['tests']>['failed'][number];
type Execution = Schemas['ExecutionResponse'];

/** How a plan is printed. */
export interface Printing {
  readonly asMarkdown: boolean;
  readonly all: boolean;
}

/** Pages of agents that are read for their names, to save the rate limit. */
const LONGEST_PAGE = 1_000;
const MOST_PAGES = 5;

/** The plan for people, on a terminal or in a comment on a pull request, with its tests. With a key without `read`, ids are shown instead of names. */
export async function printPlan(
  governance: GovernanceClient,
  set: PolicyFiles,
  planned: Plan,
  { asMarkdown, all }: Printing,
): Promise<void> {
  const isReader = (await seenBy(governance))('read');
  const agents = isReader ? await agentsOf(governance, planned) : new Map<string, Subject>();
  const byDefault = isReader ? await defaultEffect(governance) : null;
  const reader = { subjectOf: (id: string): Subject => agents.get(id) ?? otherSubject(id), byDefault, all };
  const base = planned.changes.some(isChange) ? [{ mark: ' ', text: `Base: ${planned.base}` } as const] : [];
  const { replay } = planned;
  const asked = replay !== undefined && isReader ? await replayed(governance, replay) : new Map<string, Execution>();
  const replayText = replay === undefined ? [] : replayLines(replay, asked);
  const shown = planLines(planned, reader, headlineLines(planned.effects, reader));
  const lines = [...shown, ...replayText, BLANK, ...testLines(set, planned), ...base];
  if (asMarkdown) printLine(`### Policies: ${planTitle(planned)}\n\n${fenced(lines.map(diffLine).join('\n'))}\n`);
  else printLine([styled('bold', `Policies: ${planTitle(planned)}`), ...lines.map(styledLine)].join('\n'));
}

/** The tests that failed, each with its place, and how many there were. */
export function printTests(set: PolicyFiles, planned: Plan): void {
  for (const line of testLines(set, planned)) printLine(styledLine(line));
}

/** The plan as JSON: each test that failed with its place in the files, as its index alone says little. */
export function shownPlan(set: PolicyFiles, planned: Plan): Plan {
  const { tests } = planned;
  if (tests === undefined) return planned;
  const failed = tests.failed.map((test) => ({ ...test, message: failureText(set, test) }));
  return { ...planned, tests: { ...tests, failed } };
}

function testLines(set: PolicyFiles, { tests }: Plan): PlanLine[] {
  if (tests === undefined) return [];
  const failed = tests.failed.map((test): PlanLine => ({ mark: '-', text: failureText(set, test) }));
  return [...failed, { mark: ' ', text: `Tests: ${tests.passed} passed, ${tests.failed.length} failed.` }];
}

function failureText(set: PolicyFiles, { index, expect, effect, reason, policies }: FailedTest): string {
  const by = policies.map(({ name, version }) => `${name} ${version}`).join(', ') || 'no policy';
  const wanted = set.tests[index]?.by;
  const expected = `${expect}${wanted === undefined || wanted === null ? '' : ` by ${wanted}`}`;
  const message = `should be ${expected}, and is ${effect} by ${by}${reason === null ? '' : ` (${reason})`}`;
  return set.located({ field: `tests[${index}]`, message });
}

const BLANK: PlanLine = { mark: ' ', text: '' };

/** A name in the text must neither end the fence nor control a terminal. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}diff\n${text}\n${fence}`;
}

/** The agents that a plan names. */
async function agentsOf(governance: GovernanceClient, { effects }: Plan): Promise<ReadonlyMap<string, Subject>> {
  const wanted = new Set(effects.flatMap(({ subjects }) => subjects).filter((subject) => subject.startsWith('agt_')));
  const found = new Map<string, Subject>();
  let left = LONGEST_PAGE * MOST_PAGES;
  if (wanted.size === 0) return found;
  for await (const { id, name, kind } of governance.pages('/api/v1/agents', { query: { limit: LONGEST_PAGE } })) {
    if (wanted.delete(id)) found.set(id, { name, kind });
    left -= 1;
    if (wanted.size === 0 || left === 0) break;
  }
  return found;
}

/** Whom a plan names who is not registered, or whose name is not known. */
function otherSubject(id: string): Subject {
  if (id === 'other:machine') return { name: 'machines that are not registered', kind: 'machine' };
  if (id === 'other:human') return { name: 'people who are not registered', kind: 'human' };
  const [, what, name = ''] = /^other:(role|agent):([^]*)$/.exec(id) ?? [];
  if (what === undefined) return { name: id, kind: null };
  return {
    name: what === 'role' ? `role:${name} (nobody has it yet)` : `${name} (not registered yet)`,
    kind: 'machine',
  };
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
