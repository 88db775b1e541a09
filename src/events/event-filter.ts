import type { Condition } from '../ledger/record-page';
import type { ListedEntry } from '../ledger/reading/entry-reader';
import { matchesAction } from './action-pattern';

/** Which entries are requested; members left out do not restrict them. */
export interface EventFilter {
  /** Any of these. */
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

/** The part of a filter that the database's indexes can serve; the rest is compared here. */
export function conditionsOfFilter(filter: EventFilter): Condition[] {
  const [only = '*', ...others] = filter.actions ?? [];
  const action = others.length === 0 && !only.endsWith('*') ? only : undefined;
  return [...IDS.flatMap((column) => equals(column, filter[column])), ...equals('action', action)];
}

function equals(column: string, value: string | undefined): Condition[] {
  return value === undefined ? [] : [{ column, comparison: 'equals', value }];
}
