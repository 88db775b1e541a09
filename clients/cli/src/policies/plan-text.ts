import type { Schemas } from '../../../typescript/src/index.js';
import { groupText } from '../group-text.js';
import { shownJson } from '../output.js';

type Plan = Schemas['PolicyPlanResponse'];
type Effect = Plan['effects'][number];
type Verdict = Effect['from'];
type Patterns = Effect['actions'];
type Versions = readonly { readonly name: string; readonly version: string }[];

/** A line of a plan, with a mark as in a diff. */
export interface PlanLine {
  readonly mark: '+' | '-' | '!' | ' ' | '#';
  readonly text: string;
}

/** The subject that an id of a plan stands for; `kind` is null if it is not known. */
export interface Subject {
  readonly name: string;
  readonly kind: 'machine' | 'human' | null;
}

/** The facts with which a plan is shown. */
export interface PlanReader {
  readonly subjectOf: (id: string) => Subject;
  /** All ids of agents, and of others that the plan names; null where they are not known. */
  readonly everyone: readonly string[] | null;
  /** The effect if no policy matches; null if it is not known. */
  readonly byDefault: 'allow' | 'deny' | null;
  /** True if everything is shown, with each name. */
  readonly all: boolean;
}

/** Maximum number of names in a line, unless all are shown. */
const MAX_NAMES = 8;
/** Maximum number of warnings, and of policies that never decide, unless all are shown. */
const MAX_REMARKS = 10;

const MARKS = { create: '+', activate: '+', deactivate: '-', keep: ' ' } as const;

/** True if applying the set would change which policies are in force. */
export function isChange({ change }: Plan['changes'][number]): boolean {
  return change !== 'keep';
}

/**
 * Returns the title of a plan: how many policies change.
 * @param otherFiles texts that say how many agents change
 * @param inForce how many policies are in force now; null where that is not known
 */
export function planTitle({ changes }: Plan, otherFiles: readonly string[], inForce: number | null): string {
  const counts = (['create', 'activate', 'deactivate'] as const)
    .map((kind) => ({ kind, count: changes.filter(({ change }) => change === kind).length }))
    .filter(({ count }) => count > 0);
  const keptCount = changes.length - changes.filter(isChange).length;
  const namedCount = changes.filter(({ change, replaces }) => !isStarted(change) || replaces !== null).length;
  const restOfTitle = restText(inForce === null ? 0 : Math.max(0, inForce - namedCount));
  if (counts.length + otherFiles.length === 0)
    return `nothing to do: ${keptCount} in force as they are here${restOfTitle}`;
  const texts = [
    ...counts.map(({ kind, count }) => `${count} to ${kind}`),
    ...otherFiles,
    ...(keptCount > 0 ? [`${keptCount} kept`] : []),
  ];
  return `${texts.join(', ')}${restOfTitle}`;
}

/** True if the change brings a policy into force. */
function isStarted(change: Plan['changes'][number]['change']): boolean {
  return change === 'create' || change === 'activate';
}

/** Returns a text about policies in force that the files do not name, and that are not deactivated. */
function restText(count: number): string {
  if (count === 0) return '';
  return count === 1 ? '; 1 in force is in no file and stays' : `; ${count} in force are in no file and stay`;
}

/** Returns the plan as lines for people. @param headline says in short what changes for whom */
export function planLines(plan: Plan, reader: PlanReader, headline: readonly PlanLine[]): PlanLine[] {
  return [
    ...effectLines(plan, reader, headline),
    ...changeLines(plan, reader),
    ...cut(shadowLines(plan, reader), reader),
    ...cut(warningLines(plan), reader),
  ];
}

function changeLines({ changes }: Plan, reader: PlanReader): PlanLine[] {
  const lines = changes.filter(isChange).flatMap(({ change, name, version, replaces, differences }) => [
    {
      mark: MARKS[change],
      text: `${change.padEnd(10)} ${name} ${version}${replaces === null ? '' : ` in place of ${replaces.version}`}`,
    },
    ...cut(
      differences.map(({ at, from, to }) => line(' ', `  ${at}: ${shownJson(from)} → ${shownJson(to)}`)),
      reader,
    ),
  ]);
  return lines.length === 0 ? [] : [line(' ', ''), ...lines];
}

function effectLines(
  { changes, effects, complete, reason }: Plan,
  reader: PlanReader,
  headline: readonly PlanLine[],
): PlanLine[] {
  if (!changes.some(isChange)) return [];
  const nameOf = (id: string): string => reader.subjectOf(id).name;
  return [
    ...headline,
    ...(complete ? [] : [line('!', `This is not all: ${String(reason)}`)]),
    ...(reader.all && effects.length > 0
      ? [...section('Each of them:'), ...effects.flatMap((effect) => regionLines(effect, nameOf))]
      : []),
  ];
}

/** Returns the first of some lines, and how many more there are. */
function cut(lines: readonly PlanLine[], { all }: PlanReader): readonly PlanLine[] {
  const more = lines.length - MAX_REMARKS;
  return all || more <= 1 ? lines : [...lines.slice(0, -more), line('!', `and ${more} more: --all shows them`)];
}

function regionLines(
  { from, to, subjects, actions, resourceTypes, resources, when, because }: Effect,
  nameOf: (subject: string) => string,
): PlanLine[] {
  const facts: readonly (readonly [string, string])[] = [
    ['who', subjects.map(nameOf).join(', ')],
    ['does', patternsText(actions)],
    ['on', patternsText(resources)],
    ['type', patternsText(resourceTypes) === 'anything' ? '' : patternsText(resourceTypes)],
    ['where', conditionsText(when.hold, 'them')],
    ['unless', conditionsText(when.fail, 'any of them')],
    ['by', [versions(because.from) || 'no policy', versions(because.to) || 'no policy'].join(' → ')],
  ];
  const lines = facts.filter(([, text]) => text !== '').map(([name, text]) => line(' ', `  ${name.padEnd(7)}${text}`));
  return [line(isLooser(from, to) ? '!' : ' ', `${verdictText(from)} → ${verdictText(to)}`), ...lines];
}

/** Returns a text about conditions. It does not say "hold", because a denial also matches if a parameter is missing. */
function conditionsText(policies: Versions, several: string): string {
  if (policies.length === 0) return '';
  return `the conditions and limits of ${versions(policies)} let ${policies.length === 1 ? 'it' : several} match`;
}

/** Orders verdicts by how much they permit. */
export const STRENGTH = { deny: 0, no_policy: 1, require_approval: 2, allow: 3 } as const;

/** True if a change permits more than before: it deserves a second look. */
function isLooser(from: Verdict, to: Verdict): boolean {
  return STRENGTH[to.effect] > STRENGTH[from.effect];
}

export function verdictText({ effect, approvers = [] }: Verdict): string {
  const names = { allow: 'allow', deny: 'deny', require_approval: 'approval', no_policy: 'no policy (default effect)' };
  const groups = approvers.map(groupText);
  return groups.length === 0 ? names[effect] : `${names[effect]} by ${groups.join(' and ')}`;
}

function patternsText({ in: patterns, except }: Patterns): string {
  const those = patterns.includes('*') ? 'anything' : patterns.map(resourceText).join(', ');
  return except.length === 0 ? those : `${those} but ${except.map(resourceText).join(', ')}`;
}

/** Returns a pattern as text. Two of the patterns occur only in plans. */
export function resourceText(pattern: string): string {
  if (pattern === '+') return 'names without "/"';
  return pattern === '://' ? 'URLs' : pattern;
}

function shadowLines({ shadowed }: Plan, { all }: PlanReader): PlanLine[] {
  const never = new Map<string, string[]>();
  for (const { policy, by } of shadowed) {
    const decider = versions([by]);
    never.set(decider, [...(never.get(decider) ?? []), versions([policy])]);
  }
  const those = [...never].map(([decider, policies]) =>
    line(
      '!',
      `${listed(policies, all)}: whatever ${policies.length === 1 ? 'it matches' : 'they match'}, ${decider} decides`,
    ),
  );
  return those.length === 0 ? [] : [...section('Policies that never decide:'), ...those];
}

function warningLines({ warnings }: Plan): PlanLine[] {
  return warnings.length === 0 ? [] : [...section('Warnings:'), ...warnings.map((text) => line('!', text))];
}

export function versions(policies: Versions): string {
  return policies.map(({ name, version }) => `${name} ${version}`).join(', ');
}

/** Returns the first names, and how many more there are, unless all are shown. */
export function listed(names: readonly string[], all: boolean): string {
  const more = all ? 0 : names.length - MAX_NAMES;
  return more > 0 ? `${names.slice(0, MAX_NAMES).join(', ')} and ${more} more` : names.join(', ');
}

export function section(title: string): PlanLine[] {
  return [line(' ', ''), line('#', title)];
}

export function line(mark: PlanLine['mark'], text: string): PlanLine {
  return { mark, text };
}
