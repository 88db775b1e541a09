import type { Caller } from '../caller';
import type { AnyRecordKind, GovernedRow } from '../record-kind';
import type { Condition } from '../record-page';

/** For whom records are read. */
export type Viewer = Pick<Caller, 'agentId' | 'grants'>;

/**
 * What a record has to meet for somebody to see it. Who is bound to an agent, and has no scope that shows all, sees what is
 * its agent's.
 */
export function sightOf({ subjectType, visibility }: AnyRecordKind, viewer: Viewer | undefined): readonly Condition[] {
  if (visibility === undefined) return [];
  // Not everybody sees all of them, so nobody reads them without saying for whom.
  if (viewer === undefined) throw new Error(`A ${subjectType} was read, and it was not said for whom.`);
  const { agentId, grants } = viewer;
  if (agentId === null || visibility.allWith.some((scope) => grants.has(scope))) return [];
  return [{ column: visibility.agentColumn, comparison: 'equals', value: agentId }];
}

/** The record, where it may be seen. */
export function visibleTo<Row extends GovernedRow>(
  viewer: Viewer | undefined,
  kind: AnyRecordKind,
  row: Row | undefined,
): Row | undefined {
  const columns = row as Readonly<Record<string, unknown>> | undefined;
  const isVisible = sightOf(kind, viewer).every(({ column, value }) => columns?.[column] === value);
  return isVisible ? row : undefined;
}
