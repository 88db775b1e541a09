import type { Schemas } from '../../../typescript/src/index.js';
import { counted } from '../output.js';
import { isAny, type Patterns, type Place, type PlanPart, planParts, shortPlaces } from './plan-parts.js';
import { line, listed, type PlanLine, type PlanReader, resourceText, verdictText, versions } from './plan-text.js';

type Effect = Schemas['PolicyPlanResponse']['effects'][number];
type Verdict = Effect['from'];

const CHANGES = ['allowed', 'refused', 'asked for'] as const;
type Change = (typeof CHANGES)[number];

const AS_CAPABLE =
  'Agents count as active and capable of everything: what their capabilities do not cover stays denied.';
const UNCOMPARED =
  'Conditions and limits are not compared: where a policy only becomes stricter, nothing is newly allowed by it.';
const NEWLY = { allowed: 'newly allowed', refused: 'newly refused', 'asked for': 'newly in need of approval' } as const;
/** Most kinds of changes, unless all are wanted. */
const MOST_LINES = 20;
/** Most sentences in a line, unless all are wanted. */
const MOST_SENTENCES = 3;
/** That everybody is meant says more than that everything is, and that more than everywhere. */
const [EVERYBODY, EVERYTHING, EVERYWHERE] = [4, 2, 1];

/** Requests that change in the same way because of the same policies: one line for people, however many regions they are. */
interface Kind {
  readonly change: Change;
  readonly verdict: string;
  readonly by: string;
  readonly regions: readonly Effect[];
}

/** Who does what, in one sentence. */
interface Sentence extends Omit<PlanPart, 'resources' | 'resourceTypes'> {
  readonly places: readonly Place[];
}

interface Line extends Kind {
  /** The widest first. */
  readonly sentences: readonly Sentence[];
}

/** Whether the answer changes for whoever asks: without a policy, the default is the answer. */
export function isChangeInPractice({ from, to }: Effect, byDefault: PlanReader['byDefault']): boolean {
  const answer = ({ effect }: Verdict): string => (effect === 'no_policy' ? (byDefault ?? effect) : effect);
  return to.effect === 'require_approval' || answer(from) !== answer(to);
}

/**
 * How many kinds of requests change how, then a line for each of them, the widest first. Each sentence of a line is true of
 * all requests that it speaks of.
 */
export function headlineLines(effects: readonly Effect[], reader: PlanReader): PlanLine[] {
  const changing = effects.filter((effect) => isChangeInPractice(effect, reader.byDefault));
  const kinds = kindsOf(changing, reader.byDefault);
  const counts = CHANGES.map((change) => ({
    change,
    count: kinds.filter((kind) => kind.change === change).length,
  }));
  const unchanging = effects.filter((effect) => !isChangeInPractice(effect, reader.byDefault));
  const folded = kindsOf(unchanging, reader.byDefault).length;
  const all = kinds.map((kind) => ({ ...kind, sentences: sentencesOf(kind.regions) }));
  const shown = reader.all ? all : [...all].sort(byWidth).slice(0, MOST_LINES);
  const texts = [...shown].sort(byChange).map((one) => ({ one, text: textOf(one, reader) }));
  const isCut = !reader.all && texts.some(({ one, text }) => textOf(one, { ...reader, all: true }) !== text);
  const left = kinds.length - shown.length;
  const total = counts.filter(({ count }) => count > 0).map(({ change, count }) => `${count} ${NEWLY[change]}`);
  return [
    line('#', changing.length === 0 ? 'No request would get a different answer in practice.' : headline(total)),
    ...(changing.length > 0 ? [line(' ', AS_CAPABLE)] : []),
    ...(changing.some(isUncompared) ? [line(' ', UNCOMPARED)] : []),
    ...texts.map(({ one: { change }, text }) => line(change === 'allowed' ? '!' : ' ', text)),
    ...(left > 0 ? [line('!', `and ${left} more: --all shows them`)] : []),
    ...(isCut ? [line(' ', 'This is cut: --all shows all of it.')] : []),
    ...(folded > 0
      ? [line(' ', `${counted(folded, 'kind')} of requests answered as before (${asBefore(reader)}).`)]
      : []),
  ];
}

/** Whether it takes a request that the conditions of one policy let match, and those of another do not. */
function isUncompared({ when }: Effect): boolean {
  return when.hold.length > 0 && when.fail.length > 0;
}

function headline(counts: readonly string[]): string {
  return `Kinds of requests that would get a different answer: ${counts.join(', ')}.`;
}

function asBefore({ byDefault, all }: PlanReader): string {
  return `no policy means ${byDefault ?? 'the default'}${all ? '' : '; --all shows them'}`;
}

function kindsOf(effects: readonly Effect[], byDefault: PlanReader['byDefault']): Kind[] {
  const kinds = new Map<string, Kind & { readonly regions: Effect[] }>();
  for (const effect of effects) {
    const { to, because } = effect;
    const change = changeTo(to, byDefault);
    const by = versions(because.to) || `without ${versions(because.from) || 'a policy'}`;
    const verdict = to.effect === 'require_approval' ? verdictText(to) : '';
    const key = JSON.stringify([change, verdict, by]);
    const kind = kinds.get(key) ?? { change, verdict, by, regions: [] };
    kind.regions.push(effect);
    kinds.set(key, kind);
  }
  return [...kinds.values()];
}

function changeTo({ effect }: Verdict, byDefault: PlanReader['byDefault']): Change {
  if (effect === 'require_approval') return 'asked for';
  return effect === 'allow' || (effect === 'no_policy' && byDefault === 'allow') ? 'allowed' : 'refused';
}

function sentencesOf(regions: readonly Effect[]): Sentence[] {
  const sentences = new Map<string, Sentence & { readonly places: Place[] }>();
  for (const { when, subjects, actions, ...place } of planParts(regions)) {
    const key = JSON.stringify([when, subjects, actions]);
    const sentence = sentences.get(key) ?? { when, subjects, actions, places: [] };
    sentence.places.push(place);
    sentences.set(key, sentence);
  }
  return [...sentences.values()]
    .map((sentence) => ({ ...sentence, places: shortPlaces(sentence.places) }))
    .sort((one, other) => widthOf(other) - widthOf(one) || other.subjects.length - one.subjects.length);
}

function textOf({ change, verdict, by, sentences }: Line, reader: PlanReader): string {
  const verb = { allowed: 'may', refused: 'may not', 'asked for': 'needs approval to' }[change];
  const shown = sentences.slice(0, reader.all ? sentences.length : MOST_SENTENCES);
  const texts = shown.map((sentence) => {
    const { subjects, actions, places, when } = sentence;
    const does = isAny(actions) ? `do everything${exceptText(actions, reader)}` : patternsText(actions, reader);
    const isEverywhere = isAny(actions) && places.some(isWholly);
    const on = isEverywhere ? '' : ` ${places.map((place) => placeText(place, reader)).join(', or ')}`;
    return `${whoText(subjects, reader)} ${verb} ${does}${on}${whenText(when, by)}`;
  });
  const left = sentences.length - shown.length;
  const more = left > 0 ? `; and ${counted(left, 'narrower case')}` : '';
  return `${texts.join('; ')}${more}${verdict === '' ? '' : `: ${verdict}`} (${by})`;
}

/** Everybody, or a kind of everybody, and whom that leaves out; or their names, if those are fewer. */
function whoText(ids: readonly string[], { subjectOf, everyone, all }: PlanReader): string {
  const named = (some: readonly string[]): string =>
    listed(
      some.map((id) => subjectOf(id).name),
      all,
    );
  const has = new Set(ids);
  const [machines, people] = [has.has('other:machine'), has.has('other:human')];
  if (everyone === null || !(machines || people)) return named(ids);
  const every = machines && people ? null : machines ? 'machine' : 'human';
  const isMeant = (id: string): boolean => every === null || subjectOf(id).kind === every;
  const left = everyone.filter((id) => isMeant(id) && !has.has(id));
  if (left.length > ids.filter(isMeant).length) return named(ids);
  const others = ids.filter((id) => !isMeant(id));
  const most = every === null ? 'everybody' : every === 'machine' ? 'every machine' : 'every person';
  const but = left.length === 0 ? '' : ` but ${named(left)}`;
  return `${most}${but}${others.length === 0 ? '' : `, and ${named(others)}`}`;
}

function placeText({ resources, resourceTypes }: Place, reader: PlanReader): string {
  const on = isAny(resources) ? 'on anything' : `on ${listed(resources.in.map(resourceText), reader.all)}`;
  const { in: types, except } = resourceTypes;
  const ofTypes = (some: readonly string[]): string =>
    `of the ${some.length === 1 ? 'type' : 'types'} ${listed(some, reader.all)}`;
  const left = [
    ...(resources.except.length > 0 ? [listed(resources.except.map(resourceText), reader.all)] : []),
    ...(except.length > 0 ? [ofTypes(except)] : []),
  ];
  const but = left.length === 0 ? '' : ` (except ${left.join(' and ')})`;
  return `${on}${isAny(resourceTypes) ? '' : ` ${ofTypes(types)}`}${but}`;
}

function isWholly({ resources, resourceTypes }: Place): boolean {
  return [resources, resourceTypes].every((patterns) => isAny(patterns) && patterns.except.length === 0);
}

function patternsText(patterns: Patterns, reader: PlanReader): string {
  return `${listed(patterns.in.map(resourceText), reader.all)}${exceptText(patterns, reader)}`;
}

function exceptText({ except }: Patterns, reader: PlanReader): string {
  return except.length === 0 ? '' : ` but ${listed(except.map(resourceText), reader.all)}`;
}

/** @param by the policies that decide, which are named already. */
function whenText(when: PlanPart['when'], by: string): string {
  const texts = [true, false].flatMap((wanted) => {
    const policies = when.filter(({ holds }) => holds === wanted).map(({ policy }) => policy);
    if (policies.length === 0) return [];
    const whose = policies.join(', ') === by ? (policies.length === 1 ? 'its' : 'their') : null;
    const conditions =
      whose === null ? `the conditions and limits of ${policies.join(', ')}` : `${whose} conditions and limits`;
    return `${conditions} ${wanted ? '' : 'do not '}let ${policies.length === 1 ? 'it' : 'them'} match`;
  });
  return texts.length === 0 ? '' : `, where ${texts.join(' and ')}`;
}

function byChange(one: Line, other: Line): number {
  return CHANGES.indexOf(one.change) - CHANGES.indexOf(other.change) || byWidth(one, other);
}

function byWidth(one: Line, other: Line): number {
  return lineWidth(other) - lineWidth(one) || other.regions.length - one.regions.length;
}

function lineWidth({ sentences }: Line): number {
  return Math.max(...sentences.map(widthOf));
}

function widthOf({ subjects, actions, places }: Sentence): number {
  const who = subjects.filter((id) => id === 'other:machine' || id === 'other:human').length;
  const where = places.some(({ resources }) => isAny(resources));
  return EVERYBODY * who + EVERYTHING * Number(isAny(actions)) + EVERYWHERE * Number(where);
}
