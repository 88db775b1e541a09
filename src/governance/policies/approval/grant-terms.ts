import { parseDuration } from '../../../core/values/duration';

/** The longest time for which an approval may be given. */
const LONGEST = 'P90D';
export const MOST_USES = 10_000;

/** The most that the approvers of a policy may give at once. */
export interface GrantAllowance {
  /** An ISO 8601 duration. */
  readonly for: string;
  /** Null: any number. */
  readonly uses: number | null;
  /** Whether it may be for other resources and other parameters than those asked for. */
  readonly wider: boolean;
}

/** What a reviewer gives with an approval: it is good for more than one action. */
export interface GivenGrant {
  /** An ISO 8601 duration. */
  readonly for: string;
  /** Null: as many as are allowed. */
  readonly uses: number | null;
  /** Patterns; null: exactly the resource asked for. */
  readonly resources: readonly string[] | null;
  readonly parameters: 'same' | 'any';
}

/** What is wrong with a duration of a grant; undefined if nothing is. */
export function grantDurationFault(text: string): string | undefined {
  const isValid = parseDuration(text, parseDuration(LONGEST)) !== undefined;
  return isValid
    ? undefined
    : `must be an ISO 8601 duration between one second and ${LONGEST}, such as "PT1H" or "P30D"`;
}

/** The least of several: each of them limits what may be given. Null where one allows no grant, or there are none. */
export function leastAllowance(allowances: readonly (GrantAllowance | undefined)[]): GrantAllowance | null {
  let least: GrantAllowance | null = null;
  for (const allowance of allowances) {
    if (allowance === undefined) return null;
    least = least === null ? allowance : lesser(least, allowance);
  }
  return least;
}

/** If both are equally long, the first keeps its text. */
function lesser(one: GrantAllowance, other: GrantAllowance): GrantAllowance {
  return {
    for: lengthOf(other.for) < lengthOf(one.for) ? other.for : one.for,
    uses: one.uses === null || (other.uses !== null && other.uses < one.uses) ? other.uses : one.uses,
    wider: one.wider && other.wider,
  };
}

/** Where a grant goes beyond what is allowed: the member at fault, and what would be right. */
export function excessOf(
  given: GivenGrant,
  allowed: GrantAllowance | null,
): { readonly at: string; readonly message: string } | undefined {
  if (allowed === null)
    return { at: '', message: 'must be left out: the policies that require this approval allow no grant' };
  if (lengthOf(given.for) > lengthOf(allowed.for)) return { at: '.for', message: `must be at most ${allowed.for}` };
  if (given.uses !== null && allowed.uses !== null && given.uses > allowed.uses)
    return { at: '.uses', message: `must be at most ${allowed.uses}` };
  const onlyWider = 'must be left out: the policies that require this approval allow no wider grant';
  if (given.resources !== null && !allowed.wider) return { at: '.resources', message: onlyWider };
  if (given.parameters === 'any' && !allowed.wider) return { at: '.parameters', message: onlyWider };
  return undefined;
}

/** Whether two reviewers give the same, within what is allowed: durations as text, resources as sets. */
export function areSameGrants(one: GivenGrant, other: GivenGrant, { uses }: GrantAllowance): boolean {
  return (
    one.for === other.for &&
    (one.uses ?? uses) === (other.uses ?? uses) &&
    one.parameters === other.parameters &&
    textOf(one.resources) === textOf(other.resources)
  );
}

/** Names what is used of a grant among the sums that the ledger keeps. */
export function sumOfGrant(id: string): string {
  return JSON.stringify(['grant', id]);
}

function textOf(resources: readonly string[] | null): string {
  return resources === null ? '' : JSON.stringify([...new Set(resources)].sort());
}

/** Milliseconds. */
export function lengthOf(duration: string): number {
  return parseDuration(duration) ?? Infinity;
}
