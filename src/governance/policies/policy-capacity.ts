import type { Configuration } from '../../core/config/configuration';
import { everySubjectOf } from './approval/approval-requirement';
import type { PolicyRules } from './evaluation/compiled-policy';
import { factsOfPolicy, MAX_FACTS_IN_FORCE, MAX_TIMED_CONDITIONS, timedConditionsOf } from './evaluation/fact-bounds';

/** Most patterns of all policies in force. */
const MAX_PATTERNS = 100_000;
/** Most conditions of all policies in force: one check, which is answered without a pause, may evaluate them all. */
const MAX_CONDITIONS = 50_000;
/** Most policies in force with limits: the used sums of all are read for each request. */
const MAX_LIMITED_POLICIES = 100;

const MEMBERS = ['policies', 'limited', 'bytes', 'patterns', 'conditions', 'facts', 'timed'] as const;
const NOTHING = { policies: 0, limited: 0, bytes: 0, patterns: 0, conditions: 0, facts: 0, timed: 0 };

/**
 * Size of policies: their number, the number with limits, their patterns, conditions, facts and conditions on a time,
 * and the bytes held as text.
 */
type Extent = Readonly<Record<(typeof MEMBERS)[number], number>>;

/** Size of a policy; `team` is null if it has none. */
export type PolicyExtent = Extent & { readonly team: string | null };

/** Size of the policies of each team that has any; null for those of no team. */
export type ExtentTotals = ReadonlyMap<string | null, Extent>;

type Limits = Pick<Configuration, 'maxPolicies' | 'maxPolicyText'>;

/** Tenths of each limit that may be used, and by whom. */
interface Share {
  readonly tenths: number;
  readonly team: string | null;
}

const WHOLE: Share = { tenths: 10, team: null };
const ALL_TEAMS: Share = { tenths: 9, team: null };
const TENTHS_OF_TEAM = 1;

export function policyExtent(policy: Omit<PolicyRules, 'id'>): PolicyExtent {
  const { subjects, actions, resources, resourceTypes, conditions, limits, onBehalfOf, approval, team } = policy;
  const approvers = (approval?.approvers ?? []).map(everySubjectOf);
  let bytes = conditions.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(conditions));
  let patterns = 0;
  for (const texts of [subjects, actions, resources, resourceTypes, onBehalfOf, ...approvers]) {
    patterns += texts.length;
    for (const text of texts) bytes += Buffer.byteLength(text);
  }
  const limited = limits.length > 0 ? 1 : 0;
  const [facts, timed] = [factsOfPolicy(policy), timedConditionsOf(policy)];
  return { policies: 1, bytes, patterns, conditions: conditions.length, limited, facts, timed, team };
}

/** Returns the totals without some policies and with others; takes as long as there are teams and changes. */
export function totalsWith(
  totals: ExtentTotals,
  removed: readonly PolicyExtent[],
  added: readonly PolicyExtent[],
): ExtentTotals {
  const changed = new Map([...totals].map(([team, total]) => [team, { ...total }]));
  const count = (extent: PolicyExtent, sign: 1 | -1): void => {
    const total = changed.get(extent.team) ?? { ...NOTHING };
    for (const member of MEMBERS) total[member] += sign * extent[member];
    if (total.policies === 0) changed.delete(extent.team);
    else changed.set(extent.team, total);
  };
  for (const extent of added) count(extent, 1);
  for (const extent of removed) count(extent, -1);
  return changed;
}

/**
 * Returns the fault of the first limit that the policies in force exceed; undefined if there is none. A total that has
 * not grown is never a fault.
 * @param isOfTeam true if a team makes the change: all teams together may use nine tenths
 */
export function capacityFault(
  before: ExtentTotals,
  after: ExtentTotals,
  limits: Limits,
  isOfTeam = false,
): string | undefined {
  return faultOf(sumOf(before), sumOf(after), limits, isOfTeam ? ALL_TEAMS : WHOLE);
}

/** Returns the fault of the first limit of which one of the teams would use more than a tenth. */
export function teamFault(before: ExtentTotals, after: ExtentTotals, limits: Limits): string | undefined {
  for (const [team, total] of after) {
    const share = { tenths: TENTHS_OF_TEAM, team };
    const fault = team === null ? undefined : faultOf(before.get(team) ?? NOTHING, total, limits, share);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function sumOf(totals: ExtentTotals): Extent {
  const sum = { ...NOTHING };
  for (const total of totals.values()) for (const member of MEMBERS) sum[member] += total[member];
  return sum;
}

function faultOf(before: Extent, after: Extent, limits: Limits, { tenths, team }: Share): string | undefined {
  const shareOf = (most: number): number => Math.floor((most * tenths) / 10);
  const bounds = [
    ['policies', 'policies', limits.maxPolicies, 'MAX_POLICIES allows'],
    ['limited', 'policies with limits', MAX_LIMITED_POLICIES, 'may be'],
    ['bytes', 'bytes of patterns', limits.maxPolicyText, 'MAX_POLICY_TEXT allows'],
    ['patterns', 'patterns', MAX_PATTERNS, 'may be'],
    ['conditions', 'conditions', MAX_CONDITIONS, 'may be'],
    ['facts', 'limits and conditions on earlier actions or claims', MAX_FACTS_IN_FORCE, 'may be'],
    ['timed', 'conditions with `within`', MAX_TIMED_CONDITIONS, 'may be'],
  ] as const;
  const exceeded = bounds.find(([member, , most]) => after[member] > before[member] && after[member] > shareOf(most));
  if (exceeded === undefined) return undefined;
  const [member, what, most, allows] = exceeded;
  const who = team === null ? '' : ` of the team "${team}"`;
  const share = tenths === 10 ? '' : `${shareOf(most)}, ${tenths === 1 ? 'a tenth' : 'nine tenths'} of the `;
  return `${after[member]} ${what}${who} in force are more than the ${share}${most} that ${allows}.`;
}
