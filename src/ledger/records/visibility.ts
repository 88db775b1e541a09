import type { Caller } from '../caller';
import type { AnyRecordKind, GovernedRow } from '../record-kind';
import type { Condition } from '../record-page';

/** On whose behalf records are read. */
export type Viewer = Pick<Caller, 'agentId' | 'grants'>;

/**
 * The conditions that a record must meet for the viewer to see it. A viewer that is bound to an agent, and has no scope
 * that shows all, sees only what belongs to its agent.
 */
export function visibilityOf(
  { subjectType, visibility }: AnyRecordKind,
  viewer: Viewer | undefined,
): readonly Condition[] {
  if (visibility === undefined) return [];
  // Records that not everybody may see must not be read without a viewer.
  if (viewer === undefined) throw new Error(`A ${subjectType} was read without a viewer.`);
  const { agentId, grants } = viewer;
  if (agentId === null || visibility.allWith.some((scope) => grants.has(scope))) return [];
  return [{ column: visibility.agentColumn, comparison: 'equals', value: agentId }];
}

/** The record, if the viewer may see it. */
export function visibleTo<Row extends GovernedRow>(
  viewer: Viewer | undefined,
  kind: AnyRecordKind,
  row: Row | undefined,
): Row | undefined {
  const columns = row as Readonly<Record<string, unknown>> | undefined;
  const isVisible = visibilityOf(kind, viewer).every(({ column, value }) => columns?.[column] === value);
  return isVisible ? row : undefined;
}
