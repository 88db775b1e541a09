import { type ColumnDefinition, type Dialect, quoteName } from '../database/dialect';

/** A member of a response about a record. */
export interface ShownMember {
  readonly name: string;
  /** Column that the member shows, or the members of its object. */
  readonly shows: string | readonly ShownMember[];
  /** True if the member is left out if it is null; never for the first member. */
  readonly isAbsentIfNull?: true;
}

/** Makes members with the names of the columns that they show. */
export function membersNamed(names: readonly string[]): ShownMember[] {
  return names.map((name) => ({ name, shows: name }));
}

/** Returns SQL for the JSON text that shows a row with these columns. */
export function recordTextSql(
  members: readonly ShownMember[],
  columns: readonly ColumnDefinition[],
  dialect: Dialect,
): string {
  return `concat(${objectParts(members, columns, dialect).join(', ')})`;
}

function objectParts(
  members: readonly ShownMember[],
  columns: readonly ColumnDefinition[],
  dialect: Dialect,
): string[] {
  const parts = members.flatMap((member, index) => {
    const label = quoteText(`${index === 0 ? '{' : ','}${JSON.stringify(member.name)}:`);
    if (typeof member.shows !== 'string') return [label, ...objectParts(member.shows, columns, dialect)];
    const value = valueSql(member, member.shows, columns, dialect);
    if (member.isAbsentIfNull !== true) return [label, value];
    return [`CASE WHEN ${quoteName(member.shows)} IS NOT NULL THEN concat(${label}, ${value}) END`];
  });
  return [...parts, quoteText('}')];
}

function valueSql(
  { name }: ShownMember,
  columnName: string,
  columns: readonly ColumnDefinition[],
  dialect: Dialect,
): string {
  const column = columns.find((other) => other.name === columnName);
  if (column === undefined) throw new Error(`The member ${name} shows the column ${columnName}, which does not exist.`);
  return dialect.jsonText(column);
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
