import { scopeMissing } from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/kinds/caller';
import type { Condition } from '../../ledger/kinds/record-page';
import { matchesAction } from '../../core/values/action-pattern';
import { equalityConditions } from '../../http/lists/list.query';
import type { ListedEntry } from '../../ledger/reading/entry-reader';

/** Selects entries; members that are left out do not restrict them. */
export interface EventFilter {
  /** Patterns, any of which may match. */
  readonly actions?: readonly string[];
  readonly agentId?: string;
  readonly entityId?: string;
  readonly subjectId?: string;
}

type FilteredMembers = Pick<ListedEntry, 'action' | 'agentId' | 'entityId' | 'subjectId'>;

const IDS = ['agentId', 'entityId', 'subjectId'] as const;

export function matchesFilter(filter: EventFilter, entry: FilteredMembers): boolean {
  const { actions } = filter;
  if (actions !== undefined && !actions.some((pattern) => matchesAction(pattern, entry.action))) return false;
  return IDS.every((member) => filter[member] === undefined || filter[member] === entry[member]);
}

/** Returns the part of a filter that the database's indexes can serve; the rest is compared here. */
export function conditionsOfFilter({ actions = [], ...ids }: EventFilter): Condition[] {
  const [only = '*', ...others] = actions;
  const action = others.length === 0 && !only.endsWith('*') ? only : undefined;
  return equalityConditions({ ...ids, action });
}

/** Actions that a key with the scope `report` follows: all that can end an execution at a gateway. */
const REPORTER_ACTIONS = ['stop.*', 'agent.suspended', 'api_key.revoked', 'api_key.expired'];

/**
 * Returns the actions that a caller follows; undefined for all.
 * @throws PERMISSION_DENIED for an action beyond those of its scope
 */
export function followedActions(
  { effectiveScopes }: Pick<Caller, 'effectiveScopes'>,
  requested: readonly string[] | undefined,
): readonly string[] | undefined {
  if (effectiveScopes.has('audit')) return requested;
  const isFollowed = (action: string): boolean => REPORTER_ACTIONS.some((pattern) => matchesAction(pattern, action));
  if (requested !== undefined && !requested.every(isFollowed)) throw scopeMissing(['audit']);
  return requested ?? REPORTER_ACTIONS;
}

/** Longest pattern in characters. */
export const MAX_PATTERN_CHARACTERS = 500;

const ANY = '*';
const FAMILY_END = '.*';

/** Returns the fault of a pattern that names one action, or a family of them as `<family>.*`; undefined if valid. */
export function eventPatternFault(pattern: string): string | undefined {
  const name = pattern.endsWith(FAMILY_END) ? pattern.slice(0, -FAMILY_END.length) : pattern;
  return name === '' || name.includes('*')
    ? 'must be an action, such as entity.created, or a family of actions, such as entity.*'
    : undefined;
}

/** Returns the fault of a pattern of actions, of which `*` means every action; undefined if valid. */
export function actionPatternOrAnyFault(pattern: string): string | undefined {
  return pattern === ANY || eventPatternFault(pattern) === undefined
    ? undefined
    : 'must be an action, such as entity.created, a family of actions, such as entity.*, or * for every action';
}
