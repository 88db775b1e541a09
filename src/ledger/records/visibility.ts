import type { Caller } from '../caller';
import type { AnyRecordKind, GovernedRow } from '../record-kind';
import type { Condition } from '../record-page';

/** On whose behalf records are read. */
export type Viewer = Pick<Caller, 'agentId' | 'effectiveScopes'>;

/**
 * The agent whose records alone the viewer sees: the one it is bound to, if it has no scope that shows all. Null: it
 * sees all.
 */
export function onlyAgentSeen({ subjectType, visibility }: AnyRecordKind, viewer: Viewer | undefined): string | null {
  if (visibility === undefined) return null;
  // Records that not everybody may see must not be read without a viewer.
  if (viewer === undefined) throw new Error(`A ${subjectType} was read without a viewer.`);
  const { agentId, effectiveScopes } = viewer;
  return visibility.allWith.some((scope) => effectiveScopes.has(scope)) ? null : agentId;
}

/** The conditions that a record must meet for the viewer to see it. */
export function visibilityOf(kind: AnyRecordKind, viewer: Viewer | undefined): readonly Condition[] {
  const agentId = onlyAgentSeen(kind, viewer);
  if (agentId === null || kind.visibility === undefined) return [];
  return [{ column: kind.visibility.agentColumn, comparison: 'equals', value: agentId }];
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
