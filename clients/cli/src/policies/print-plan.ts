import { plain, printLine, styled } from '../output.js';
import type { GovernanceClient, Schemas } from '../../../typescript/src/index.js';
import { isChange, namedAgents, type PlanLine, planLines, planTitle } from './plan-text.js';
import type { PolicyFiles } from './policy-files.js';
import { replayLines, shownExecutions } from './replay-text.js';

type Plan = Schemas['PolicyPlanResponse'];
type FailedTest = NonNullable<Plan['tests']>['failed'][number];
type Execution = Schemas['ExecutionResponse'];

const OTHERS = new Map([
  ['other:machine', 'machines that are not registered'],
  ['other:human', 'people who are not registered'],
]);

/** Most requests for names, to save the rate limit. */
const MOST_LOOKED_UP = 30;

/** The plan for people, on a terminal or in a comment on a pull request, with its tests. With a key without `read`, ids are shown instead of names. */
export async function printPlan(
  governance: GovernanceClient,
  set: PolicyFiles,
  planned: Plan,
  asMarkdown: boolean,
): Promise<void> {
  const isReader = (await governance.get('/api/v1/me')).scopes.includes('read');
  const names = isReader ? await agentNames(governance, planned) : new Map<string, string>();
  const nameOf = (subject: string): string => names.get(subject) ?? OTHERS.get(subject) ?? subject;
  const base = planned.changes.some(isChange) ? [{ mark: ' ', text: `Base: ${planned.base}` } as const] : [];
  const { replay } = planned;
  const asked = replay !== undefined && isReader ? await replayed(governance, replay) : new Map<string, Execution>();
  const replayText = replay === undefined ? [] : replayLines(replay, asked);
  const lines = [...planLines(planned, nameOf), ...replayText, BLANK, ...testLines(set, planned), ...base];
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

async function agentNames(governance: GovernanceClient, planned: Plan): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (const id of namedAgents(planned).slice(0, MOST_LOOKED_UP)) {
    const { name } = await governance.get('/api/v1/agents/{id}', { path: { id } });
    names.set(id, name);
  }
  return names;
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
