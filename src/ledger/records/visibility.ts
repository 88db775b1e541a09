import type { Caller } from '../kinds/caller';
import type { AnyRecordKind, GovernedRow, RecordKind } from '../kinds/record-kind';
import type { Condition } from '../kinds/record-page';
import { tableName } from './record-codec';

/** Caller on whose behalf records are read. */
export type Viewer = Pick<Caller, 'agentId' | 'effectiveScopes' | 'team'>;

/** Condition that no record meets. */
const NOTHING: Condition = { column: 'id', comparison: 'equals', value: '' };

/**
 * Returns the only agent whose records the viewer sees: the viewer's own, if no scope shows it all. Null if the viewer
 * sees all records, or those that `presentFor` or its team defines.
 */
export function onlyAgentSeen({ subjectType, visibility }: AnyRecordKind, viewer: Viewer | undefined): string | null {
  if (visibility === undefined) return null;
  // Reading records that not everybody may see requires a viewer.
  if (viewer === undefined) throw new Error(`A ${subjectType} was read without a viewer.`);
  const { agentId, effectiveScopes } = viewer;
  return visibility.allWith.some((scope) => effectiveScopes.has(scope)) ? null : agentId;
}

/** Returns the conditions that a record must meet to be visible to the viewer. */
export function visibilityOf(kind: AnyRecordKind, viewer: Viewer | undefined): readonly Condition[] {
  return [...ownConditions(kind, viewer), ...(viewer?.team === undefined ? [] : teamConditions(kind, viewer.team))];
}

/** Returns the conditions that a record must meet to belong to a team. */
export function teamConditions({ team: membership }: AnyRecordKind, team: string): readonly Condition[] {
  if (membership === undefined) return [];
  if (membership === 'nobody') return [NOTHING];
  const { column } = membership;
  if ('of' in membership) {
    const target = { table: tableName(membership.of.table), column: 'team' };
    return [{ column, comparison: 'refersTo', value: team, target }];
  }
  const sharesOthers = membership.sharesOthers === true;
  const value = sharesOthers ? JSON.stringify([[team]]) : team;
  return [{ column, comparison: sharesOthers ? 'nullOrAmong' : 'equals', value }];
}

/** Returns the conditions on the record's columns, without the one on the viewer's team. */
function ownConditions(kind: AnyRecordKind, viewer: Viewer | undefined): readonly Condition[] {
  const agentId = onlyAgentSeen(kind, viewer);
  const { visibility } = kind;
  if (visibility === undefined) return [];
  const presentColumn = presentColumnFor(kind, viewer);
  return [
    ...(agentId === null ? [] : [{ column: visibility.agentColumn, comparison: 'equals' as const, value: agentId }]),
    ...(presentColumn === null ? [] : [{ column: presentColumn, comparison: 'present' as const, value: null }]),
  ];
}

/** Returns a name for the rows that the viewer sees, for totals that are reused; null if these are all rows. */
export function visibleRows(kind: AnyRecordKind, viewer: Viewer | undefined): string | null {
  const { team } = viewer ?? {};
  const ofTeam = team === undefined || kind.team === undefined ? null : `team:${team}`;
  return onlyAgentSeen(kind, viewer) ?? presentColumnFor(kind, viewer) ?? ofTeam;
}

function presentColumnFor({ visibility }: AnyRecordKind, viewer: Viewer | undefined): string | null {
  const { presentFor } = visibility ?? {};
  if (presentFor === undefined || viewer?.effectiveScopes.has(presentFor.scope) !== true) return null;
  return presentFor.column;
}

/** Finds a record to which another refers. */
type FindRecord = (kind: RecordKind<GovernedRow>, id: string) => Promise<GovernedRow | undefined>;

/** Returns the record if the viewer may see it. @param find finds the record that determines the team */
export async function visibleTo<Row extends GovernedRow>(
  viewer: Viewer | undefined,
  kind: AnyRecordKind,
  row: Row | undefined,
  find: FindRecord,
): Promise<Row | undefined> {
  const isVisible = ownConditions(kind, viewer).every(({ column, comparison, value }) =>
    comparison === 'present' ? valueIn(row, column) !== null : valueIn(row, column) === value,
  );
  if (row === undefined || !isVisible) return undefined;
  const isOfTeam = viewer?.team === undefined || (await belongsTo(viewer.team, kind, row, find));
  return isOfTeam ? row : undefined;
}

/** True if a viewer of the team sees the record. */
export async function belongsTo(
  team: string,
  { team: membership }: AnyRecordKind,
  row: GovernedRow,
  find: FindRecord,
): Promise<boolean> {
  if (membership === undefined) return true;
  if (membership === 'nobody') return false;
  const value = valueIn(row, membership.column);
  if (!('of' in membership)) return value === team || (value === null && membership.sharesOthers === true);
  return (
    typeof value === 'string' && valueIn(await find(membership.of as RecordKind<GovernedRow>, value), 'team') === team
  );
}

function valueIn(row: GovernedRow | undefined, column: string): unknown {
  return (row as Readonly<Record<string, unknown>> | undefined)?.[column] ?? null;
}
