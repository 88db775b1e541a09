import { quoted, type Dialect } from '../dialect';

/** `jsonb` is parsed once for all columns of a row; `json` would be parsed again for each. */
export const POSTGRES_DIALECT: Dialect = {
  begin: 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
  beginReading: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
  found: (names) => ({
    sql:
      `SELECT found.name AS "name", CASE WHEN relkind NOT IN ('r', 'p') THEN relkind::text ` +
      // False for a role that the policies do not apply to, such as a superuser.
      `WHEN row_security_active(oid) THEN 'filtered' ELSE 'table' END AS "type" ` +
      `FROM jsonb_array_elements_text($1::jsonb) AS found(name) JOIN pg_class ON oid = to_regclass(quote_ident(found.name))`,
    parameters: [JSON.stringify(names)],
  }),
  clock: 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "now"',
  lockRow: ' FOR UPDATE',
  jsonElements: (parameter) => `jsonb_array_elements(${parameter}::jsonb) AS item(value)`,
  jsonAt: (index, { type }) => (type === 'integer' ? `(item.value ->> ${index})::bigint` : `item.value ->> ${index}`),
  // The server's planner has statistics.
  unindexed: (column) => column,
  jsonRows: (columns) => `json_agg(json_build_array(${columns.map(quoted).join(', ')}))::text`,
  // Rows arrive, and are decoded, one after another.
  place: (column) => column,
  placeAt: (parameter) => parameter,
  storageForms: null,
};
