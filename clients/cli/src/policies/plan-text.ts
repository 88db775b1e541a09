import type { Schemas } from '../../../typescript/src/index.js';

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

/** Most subjects and patterns listed per region; the rest is counted. */
const MOST_NAMED = 8;
/** Most regions shown. */
const MOST_EFFECTS = 50;

const MARKS = { create: '+', activate: '+', deactivate: '-', keep: ' ' } as const;

/** Whether applying the set would change which policies are in force. */
export function isChange({ change }: Plan['changes'][number]): boolean {
  return change !== 'keep';
}

/** One line: how many policies change. */
export function planTitle({ changes }: Plan): string {
  const counts = (['create', 'activate', 'deactivate'] as const)
    .map((kind) => ({ kind, count: changes.filter(({ change }) => change === kind).length }))
    .filter(({ count }) => count > 0);
  const kept = changes.length - changes.filter(isChange).length;
  if (counts.length === 0) return `nothing to do: ${kept} in force as they are here`;
  return [...counts.map(({ kind, count }) => `${count} to ${kind}`), `${kept} kept`].join(', ');
}

/** The plan as lines for people; `nameOf` returns the name of an agent by its id. */
export function planLines(plan: Plan, nameOf: (subject: string) => string): PlanLine[] {
  return [...changeLines(plan), ...effectLines(plan, nameOf), ...shadowLines(plan), ...warningLines(plan)];
}

/** Ids of the agents that `planLines` names. */
export function namedAgents({ effects }: Plan): string[] {
  const shown = effects.slice(0, MOST_EFFECTS).flatMap(({ subjects }) => subjects.slice(0, MOST_NAMED));
  return [...new Set(shown.filter((subject) => subject.startsWith('agt_')))];
}

function changeLines({ changes }: Plan): PlanLine[] {
  return changes.filter(isChange).map(({ change, name, version, replaces }) => ({
    mark: MARKS[change],
    text: `${change.padEnd(10)} ${name} ${version}${replaces === null ? '' : ` in place of ${replaces.version}`}`,
  }));
}

function effectLines({ changes, effects, complete, reason }: Plan, nameOf: (subject: string) => string): PlanLine[] {
  if (!changes.some(isChange)) return [];
  if (effects.length === 0 && complete) return section('No request would get a different answer.');
  const more = effects.length - MOST_EFFECTS;
  return [
    ...section('Requests that would get a different answer:'),
    ...effects.slice(0, MOST_EFFECTS).flatMap((effect) => regionLines(effect, nameOf)),
    ...(more > 0 ? [line('!', `and ${more} more kinds of requests: --json has them all`)] : []),
    ...(complete ? [] : [line('!', `This is not all: ${String(reason)}`)]),
  ];
}

function regionLines(
  { from, to, subjects, actions, resourceTypes, resources, when, because }: Effect,
  nameOf: (subject: string) => string,
): PlanLine[] {
  const facts: readonly (readonly [string, string])[] = [
    ['who', listed(subjects.map(nameOf))],
    ['does', patternsText(actions)],
    ['on', patternsText(resources)],
    ['type', patternsText(resourceTypes) === 'anything' ? '' : patternsText(resourceTypes)],
    ['where', conditionsText(when.hold, 'them')],
    ['unless', conditionsText(when.fail, 'any of them')],
    ['by', [versions(because.from) || 'no policy', versions(because.to) || 'no policy'].join(' → ')],
  ];
  const shown = facts.filter(([, text]) => text !== '').map(([name, text]) => line(' ', `  ${name.padEnd(7)}${text}`));
  return [line(isLooser(from, to) ? '!' : ' ', `${verdictText(from)} → ${verdictText(to)}`), ...shown];
}

/** Not "hold": a denial also matches where the parameter of its condition is missing. */
function conditionsText(policies: Versions, several: string): string {
  if (policies.length === 0) return '';
  return `the conditions of ${versions(policies)} let ${policies.length === 1 ? 'it' : several} match`;
}

/** How much a verdict permits. */
export const STRENGTH = { deny: 0, no_policy: 1, require_approval: 2, allow: 3 } as const;

/** Such changes deserve a second look. */
function isLooser(from: Verdict, to: Verdict): boolean {
  return STRENGTH[to.effect] > STRENGTH[from.effect];
}

function verdictText({ effect, approvers = [] }: Verdict): string {
  const names = { allow: 'allow', deny: 'deny', require_approval: 'approval', no_policy: 'no policy (default effect)' };
  const groups = approvers.map(({ subjects, approvals }) => `${approvals} of ${subjects.join(', ')}`);
  return groups.length === 0 ? names[effect] : `${names[effect]} by ${groups.join(' and ')}`;
}

function patternsText({ in: patterns, except }: Patterns): string {
  const those = patterns.includes('*') ? 'anything' : listed(patterns.map(resourceText));
  return except.length === 0 ? those : `${those} but ${listed(except.map(resourceText))}`;
}

/** The two patterns that only a plan has. */
function resourceText(pattern: string): string {
  if (pattern === '+') return 'any name without "/"';
  return pattern === '://' ? 'any URL' : pattern;
}

function shadowLines({ shadowed }: Plan): PlanLine[] {
  if (shadowed.length === 0) return [];
  const those = shadowed.map(({ policy, by }) =>
    line('!', `${versions([policy])}: whatever it matches, ${versions([by])} decides`),
  );
  return [...section('Policies that never decide:'), ...those];
}

function warningLines({ warnings }: Plan): PlanLine[] {
  return warnings.length === 0 ? [] : [...section('Warnings:'), ...warnings.map((text) => line('!', text))];
}

export function versions(policies: Versions): string {
  return policies.map(({ name, version }) => `${name} ${version}`).join(', ');
}

function listed(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return more > 0 ? `${names.slice(0, MOST_NAMED).join(', ')} and ${more} more` : names.join(', ');
}

export function section(title: string): PlanLine[] {
  return [line(' ', ''), line('#', title)];
}

export function line(mark: PlanLine['mark'], text: string): PlanLine {
  return { mark, text };
}
