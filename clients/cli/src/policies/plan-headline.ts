import type { Schemas } from '../../../typescript/src/index.js';
import { counted } from '../output.js';
import { line, listed, type PlanLine, type PlanReader, resourceText, verdictText, versions } from './plan-text.js';

type Effect = Schemas['PolicyPlanResponse']['effects'][number];
type Verdict = Effect['from'];
type Patterns = Effect['actions'];

const CHANGES = ['allowed', 'refused', 'asked for'] as const;
type Change = (typeof CHANGES)[number];

/** Most kinds of changes, unless all are wanted. */
const MOST_LINES = 20;

/** Requests that change in the same way because of the same policies: one line for people, however many regions they are. */
interface Kind {
  readonly change: Change;
  readonly verdict: string;
  readonly by: string;
  readonly regions: readonly Effect[];
}

/** Whether the answer changes for whoever asks: without a policy, the default is the answer. */
export function isChangeInPractice({ from, to }: Effect, byDefault: PlanReader['byDefault']): boolean {
  const answer = ({ effect }: Verdict): string => (effect === 'no_policy' ? (byDefault ?? effect) : effect);
  return to.effect === 'require_approval' || answer(from) !== answer(to);
}

/** How many kinds of requests change how, then a line for each cause, the widest first. */
export function headlineLines(effects: readonly Effect[], reader: PlanReader): PlanLine[] {
  const changing = effects.filter((effect) => isChangeInPractice(effect, reader.byDefault));
  const kinds = kindsOf(changing, reader.byDefault);
  const counts = CHANGES.map((change) => ({
    change,
    count: kinds.filter((kind) => kind.change === change).reduce((sum, { regions }) => sum + regions.length, 0),
  }));
  const folded = effects.length - changing.length;
  const shown = reader.all ? kinds : [...kinds].sort(byWidth).slice(0, MOST_LINES);
  const texts = [...shown].sort(byChange).map((kind) => ({ kind, text: textOf(kind, reader) }));
  const isCut = !reader.all && texts.some(({ kind, text }) => textOf(kind, { ...reader, all: true }) !== text);
  const left = kinds.length - shown.length;
  const total = counts.filter(({ count }) => count > 0).map(({ change, count }) => `${count} newly ${change}`);
  return [
    line('#', changing.length === 0 ? 'No request would get a different answer in practice.' : headline(total)),
    ...texts.map(({ kind: { change }, text }) => line(change === 'allowed' ? '!' : ' ', text)),
    ...(left > 0 ? [line('!', `and ${left} more: --all shows them`)] : []),
    ...(isCut ? [line(' ', 'Names are cut: --all shows all of them.')] : []),
    ...(folded > 0
      ? [line(' ', `${counted(folded, 'kind')} of requests answered as before (${asBefore(reader)}).`)]
      : []),
  ];
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

function textOf({ change, verdict, by, regions }: Kind, reader: PlanReader): string {
  const who = whoText(regions, reader);
  const [actions, resources, types] = [
    united(regions.map((region) => region.actions)),
    united(regions.map((region) => region.resources)),
    united(regions.map((region) => region.resourceTypes)),
  ];
  const verb = { allowed: 'may', refused: 'may not', 'asked for': 'needs approval to' }[change];
  const does = isAnything(actions) ? `do everything${exceptText(actions, reader)}` : listed(actions.in, reader.all);
  const on = isAnything(resources)
    ? `${isAnything(actions) ? '' : ' on anything'}${exceptText(resources, reader)}`
    : ` on ${listed(resources.in.map(resourceText), reader.all)}`;
  const type = isAnything(types) ? '' : ` of the type ${listed(types.in, reader.all)}`;
  const isConditional = regions.every(({ when }) => when.hold.length + when.fail.length > 0);
  const where = isConditional ? ', where conditions let it match' : '';
  const count = regions.length > 1 ? `, ${regions.length} kinds of requests` : '';
  return `${who} ${verb} ${does}${on}${type}${where}${verdict === '' ? '' : `: ${verdict}`} (${by}${count})`;
}

/** Everybody, or a kind of everybody, and whom that leaves out. */
function whoText(regions: readonly Effect[], reader: PlanReader): string {
  const ids = [...new Set(regions.flatMap(({ subjects }) => subjects))];
  const [machines, people] = [ids.includes('other:machine'), ids.includes('other:human')];
  if (machines && people) return 'everybody';
  const every = machines ? 'machine' : people ? 'human' : null;
  const others = ids.map(reader.subjectOf).filter(({ kind }) => every === null || kind !== every);
  const names = others.map(({ name }) => name);
  return listed(
    every === null ? names : [every === 'machine' ? 'every machine' : 'every person', ...names],
    reader.all,
  );
}

/** What any of them has; what one leaves out and none of the others names is left out. */
function united(all: readonly Patterns[]): Patterns {
  const names = new Set(all.flatMap((patterns) => patterns.in));
  return { in: [...names], except: [...new Set(all.flatMap(({ except }) => except))].filter((one) => !names.has(one)) };
}

function isAnything({ in: patterns }: Patterns): boolean {
  return patterns.includes('*');
}

function exceptText({ except }: Patterns, reader: PlanReader): string {
  return except.length === 0 ? '' : ` but ${listed(except.map(resourceText), reader.all)}`;
}

function byChange(one: Kind, other: Kind): number {
  return CHANGES.indexOf(one.change) - CHANGES.indexOf(other.change) || byWidth(one, other);
}

function byWidth(one: Kind, other: Kind): number {
  return widthOf(other) - widthOf(one) || other.regions.length - one.regions.length;
}

/** Everybody counts for more than everything, and that for more than everywhere. */
function widthOf({ regions }: Kind): number {
  const has = (subject: string): number => Number(regions.some(({ subjects }) => subjects.includes(subject)));
  const anything = (of: (region: Effect) => Patterns): number => Number(regions.some((one) => isAnything(of(one))));
  const who = has('other:machine') + has('other:human');
  return 4 * who + 2 * anything(({ actions }) => actions) + anything(({ resources }) => resources);
}
