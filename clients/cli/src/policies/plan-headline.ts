import type { Schemas } from '../../../typescript/src/index.js';
import { counted } from '../output.js';
import { isAny, type Patterns, type Place, type PlanPart, planParts, shortPlaces } from './plan-parts.js';
import { line, listed, type PlanLine, type PlanReader, resourceText, verdictText, versions } from './plan-text.js';

type Effect = Schemas['PolicyPlanResponse']['effects'][number];
type Verdict = Effect['from'];

const CHANGES = ['allowed', 'refused', 'gated'] as const;
type Change = (typeof CHANGES)[number];

const AS_CAPABLE =
  'Agents count as active and capable of everything: what their capabilities do not cover stays denied.';
const UNCOMPARED =
  'Conditions and limits are not compared: where a policy only becomes stricter, nothing is newly allowed by it.';
const NEWLY = { allowed: 'newly allowed', refused: 'newly refused', gated: 'newly in need of approval' } as const;
/** Maximum number of lines about kinds of changes, unless all are shown. */
const MAX_LINES = 20;
/** Maximum number of sentences in a line, unless all are shown. */
const MAX_SENTENCES = 3;
/**
 * Weights by which sentences are ordered: one about everybody counts more than one about every action, and that more
 * than one about every resource.
 */
const [EVERYBODY, EVERYTHING, EVERYWHERE] = [4, 2, 1];

/**
 * Requests that change in the same way because of the same policies: one line for people, however many regions they
 * are.
 */
interface Kind {
  readonly change: Change;
  readonly verdict: string;
  readonly cause: string;
  readonly regions: readonly Effect[];
}

/** A sentence of the headline: it says who does what. */
interface Sentence extends Omit<PlanPart, 'resources' | 'resourceTypes'> {
  readonly places: readonly Place[];
}

interface Line extends Kind {
  /** The widest first. */
  readonly sentences: readonly Sentence[];
}

/** True if the result changes for the requester: without a matching policy, the default is the result. */
export function isChangeInPractice({ from, to }: Effect, byDefault: PlanReader['byDefault']): boolean {
  const answer = ({ effect }: Verdict): string => (effect === 'no_policy' ? (byDefault ?? effect) : effect);
  return to.effect === 'require_approval' || answer(from) !== answer(to);
}

/**
 * Returns a line with the number of kinds of requests that change, then a line for each kind, the widest first. Each
 * sentence of a line is true of all requests that it speaks of.
 */
export function headlineLines(effects: readonly Effect[], reader: PlanReader): PlanLine[] {
  const effectiveChanges = effects.filter((effect) => isChangeInPractice(effect, reader.byDefault));
  const kinds = kindsOf(effectiveChanges, reader.byDefault);
  const counts = CHANGES.map((change) => ({
    change,
    count: kinds.filter((kind) => kind.change === change).length,
  }));
  const ineffectiveChanges = effects.filter((effect) => !isChangeInPractice(effect, reader.byDefault));
  const foldedCount = kindsOf(ineffectiveChanges, reader.byDefault).length;
  const all = kinds.map((kind) => ({ ...kind, sentences: sentencesOf(kind.regions) }));
  const shownKinds = reader.all ? all : [...all].sort(byWidth).slice(0, MAX_LINES);
  const texts = [...shownKinds].sort(byChange).map((kind) => ({ one: kind, text: textOf(kind, reader) }));
  const isCut = !reader.all && texts.some(({ one: kind, text }) => textOf(kind, { ...reader, all: true }) !== text);
  const hiddenCount = kinds.length - shownKinds.length;
  const total = counts.filter(({ count }) => count > 0).map(({ change, count }) => `${count} ${NEWLY[change]}`);
  return [
    line('#', effectiveChanges.length === 0 ? 'No request would get a different answer in practice.' : headline(total)),
    ...(effectiveChanges.length > 0 ? [line(' ', AS_CAPABLE)] : []),
    ...(effectiveChanges.some(isUncompared) ? [line(' ', UNCOMPARED)] : []),
    ...texts.map(({ one: { change }, text }) => line(change === 'allowed' ? '!' : ' ', text)),
    ...(hiddenCount > 0 ? [line('!', `and ${hiddenCount} more: --all shows them`)] : []),
    ...(isCut ? [line(' ', 'This is cut: --all shows all of it.')] : []),
    ...(foldedCount > 0
      ? [line(' ', `${counted(foldedCount, 'kind')} of requests answered as before (${asBefore(reader)}).`)]
      : []),
  ];
}

/**
 * Returns a line for each kind of requests that says what it may do, the widest first. Its mark shows if it has come or
 * gone.
 */
export function accessLines(effects: readonly Effect[], reader: PlanReader): PlanLine[] {
  const marks = { allowed: '+', refused: '-', gated: '!' } as const;
  const kinds = kindsOf(effects, reader.byDefault).map((kind) => ({ ...kind, sentences: sentencesOf(kind.regions) }));
  return kinds.sort(byChange).map((kind) => line(marks[kind.change], textOf(kind, reader)));
}

/** True if an effect is about requests that the conditions of one policy let match, and those of another do not. */
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
    const cause = versions(because.to) || `without ${versions(because.from) || 'a policy'}`;
    const verdict = to.effect === 'require_approval' ? verdictText(to) : '';
    const key = JSON.stringify([change, verdict, cause]);
    const kind = kinds.get(key) ?? { change, verdict, cause, regions: [] };
    kind.regions.push(effect);
    kinds.set(key, kind);
  }
  return [...kinds.values()];
}

function changeTo({ effect }: Verdict, byDefault: PlanReader['byDefault']): Change {
  if (effect === 'require_approval') return 'gated';
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
    .sort((left, right) => widthOf(right) - widthOf(left) || right.subjects.length - left.subjects.length);
}

function textOf({ change, verdict, cause, sentences }: Line, reader: PlanReader): string {
  const verb = { allowed: 'may', refused: 'may not', gated: 'needs approval to' }[change];
  const shownSentences = sentences.slice(0, reader.all ? sentences.length : MAX_SENTENCES);
  const texts = shownSentences.map((sentence) => {
    const { subjects, actions, places, when } = sentence;
    const does = isAny(actions) ? `do everything${exceptText(actions, reader)}` : patternsText(actions, reader);
    const isEverywhere = isAny(actions) && places.some(isWholly);
    const resourcesText = isEverywhere ? '' : ` ${places.map((place) => placeText(place, reader)).join(', or ')}`;
    return `${whoText(subjects, reader)} ${verb} ${does}${resourcesText}${whenText(when, cause)}`;
  });
  const hiddenCount = sentences.length - shownSentences.length;
  const more = hiddenCount > 0 ? `; and ${counted(hiddenCount, 'narrower case')}` : '';
  return `${texts.join('; ')}${more}${verdict === '' ? '' : `: ${verdict}`} (${cause})`;
}

/** Names subjects: everybody, or everybody of a kind, and who is excepted; or their names, if those are fewer. */
function whoText(ids: readonly string[], { subjectOf, everyone, all }: PlanReader): string {
  const namesText = (ids: readonly string[]): string =>
    listed(
      ids.map((id) => subjectOf(id).name),
      all,
    );
  const has = new Set(ids);
  const [machines, people] = [has.has('other:machine'), has.has('other:human')];
  if (everyone === null || !(machines || people)) return namesText(ids);
  const every = machines && people ? null : machines ? 'machine' : 'human';
  const isMeant = (id: string): boolean => every === null || subjectOf(id).kind === every;
  const excluded = everyone.filter((id) => isMeant(id) && !has.has(id));
  if (excluded.length > ids.filter(isMeant).length) return namesText(ids);
  const otherIds = ids.filter((id) => !isMeant(id));
  const most = every === null ? 'everybody' : every === 'machine' ? 'every machine' : 'every person';
  const but = excluded.length === 0 ? '' : ` but ${namesText(excluded)}`;
  return `${most}${but}${otherIds.length === 0 ? '' : `, and ${namesText(otherIds)}`}`;
}

function placeText({ resources, resourceTypes }: Place, reader: PlanReader): string {
  const resourcesText = isAny(resources) ? 'on anything' : `on ${listed(resources.in.map(resourceText), reader.all)}`;
  const { in: types, except } = resourceTypes;
  const ofTypes = (ids: readonly string[]): string =>
    `of the ${ids.length === 1 ? 'type' : 'types'} ${listed(ids, reader.all)}`;
  const exceptions = [
    ...(resources.except.length > 0 ? [listed(resources.except.map(resourceText), reader.all)] : []),
    ...(except.length > 0 ? [ofTypes(except)] : []),
  ];
  const but = exceptions.length === 0 ? '' : ` (except ${exceptions.join(' and ')})`;
  return `${resourcesText}${isAny(resourceTypes) ? '' : ` ${ofTypes(types)}`}${but}`;
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

/** @param cause the policies that decide, which are named already. */
function whenText(when: PlanPart['when'], cause: string): string {
  const texts = [true, false].flatMap((isTrue) => {
    const policies = when.filter(({ holds }) => holds === isTrue).map(({ policy }) => policy);
    if (policies.length === 0) return [];
    const owner = policies.join(', ') === cause ? (policies.length === 1 ? 'its' : 'their') : null;
    const conditions =
      owner === null ? `the conditions and limits of ${policies.join(', ')}` : `${owner} conditions and limits`;
    return `${conditions} ${isTrue ? '' : 'do not '}let ${policies.length === 1 ? 'it' : 'them'} match`;
  });
  return texts.length === 0 ? '' : `, where ${texts.join(' and ')}`;
}

function byChange(left: Line, right: Line): number {
  return CHANGES.indexOf(left.change) - CHANGES.indexOf(right.change) || byWidth(left, right);
}

function byWidth(left: Line, right: Line): number {
  return lineWidth(right) - lineWidth(left) || right.regions.length - left.regions.length;
}

function lineWidth({ sentences }: Line): number {
  return Math.max(...sentences.map(widthOf));
}

function widthOf({ subjects, actions, places }: Sentence): number {
  const subjectWidth = subjects.filter((id) => id === 'other:machine' || id === 'other:human').length;
  const placeWidth = places.some(({ resources }) => isAny(resources));
  return EVERYBODY * subjectWidth + EVERYTHING * Number(isAny(actions)) + EVERYWHERE * Number(placeWidth);
}
