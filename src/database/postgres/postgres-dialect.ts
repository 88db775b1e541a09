import { quoted, type Dialect } from '../dialect';

/** `jsonb` is parsed once for all columns of a row; `json` would be parsed again for each. */
export const POSTGRES_DIALECT: Dialect = {
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
  beginReading: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  notTables:
    `SELECT item.value ->> 0 AS "name" FROM jsonb_array_elements($1::jsonb) AS item(value) ` +
    `JOIN pg_class ON pg_class.oid = to_regclass(quote_ident(item.value ->> 0)) WHERE relkind NOT IN ('r', 'p')`,
  clock: 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "now"',
  lockRow: ' FOR UPDATE',
  jsonElements: (parameter) => `jsonb_array_elements(${parameter}::jsonb) AS item(value)`,
  jsonAt: (index, { type }) => (type === 'integer' ? `(item.value ->> ${index})::bigint` : `item.value ->> ${index}`),
  // The server's planner has statistics.
  unindexed: (column) => column,
  jsonRows: (columns) => `json_agg(json_build_array(${columns.map(quoted).join(', ')}))::text`,
  // Rows arrive, and are decoded, one after another.
  undecoded: (column) => column,
  place: (column) => column,
  placeAt: (parameter) => parameter,
  storageForms: null,
};
