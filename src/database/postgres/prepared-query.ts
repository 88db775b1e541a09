import type { QueryConfig } from 'pg';
import type { SqlValue } from '../sql-connection';

/** Each session keeps what it has prepared; texts beyond this number, which only odd modules have, are parsed anew. */
const MOST_NAMES = 300;

const names = new Map<string, string>();

/** A statement that a session plans once and then runs by its name: one name for each text. */
export function preparedQuery(sql: string, parameters: readonly SqlValue[]): QueryConfig {
  const name = nameOf(sql);
  const query = { text: sql, values: [...parameters] };
  return name === undefined ? query : { ...query, name };
}

function nameOf(sql: string): string | undefined {
  const known = names.get(sql);
  if (known !== undefined || names.size >= MOST_NAMES) return known;
  const name = `s${names.size}`;
  names.set(sql, name);
  return name;
}
