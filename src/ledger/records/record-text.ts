import { type ColumnDefinition, type Dialect, quoteName } from '../database/dialect';

/** A member of what a response shows of a record. */
export interface ShownMember {
  readonly name: string;
  /** The column that it shows, or the members of the object that it is. */
  readonly shows: string | readonly ShownMember[];
  /** True if it is left out in place of null; never of the first member. */
  readonly isAbsentIfNull?: true;
}

/** Members that are named as the columns they show. */
export function membersNamed(names: readonly string[]): ShownMember[] {
  return names.map((name) => ({ name, shows: name }));
}

/** The SQL of the JSON text that shows a row with these columns. */
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
