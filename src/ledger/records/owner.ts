import type { AnyRecordKind, GovernedRow } from '../record-kind';

export function ownerColumn({ owner, subjectType }: AnyRecordKind): string {
  if (owner === undefined) throw new Error(`A ${subjectType} belongs to no other record.`);
  return owner.column;
}

/**
 * The database would accept a row without its owner: rows outlive it until they are deleted.
 * @param isPresent whether the command has seen that this owner exists.
 */
export function requireOwner(
  { owner, subjectType }: AnyRecordKind,
  row: GovernedRow,
  isPresent: (ownerId: string) => boolean,
): void {
  if (owner === undefined) return;
  const ownerId = (row as unknown as Readonly<Record<string, unknown>>)[owner.column];
  if (typeof ownerId === 'string' && isPresent(ownerId)) return;
  throw new Error(`The ${subjectType} ${row.id} was added to ${String(ownerId)}, which was not read first.`);
}
