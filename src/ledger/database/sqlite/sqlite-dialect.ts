import { quoted, type Dialect } from '../dialect';

export const SQLITE_DIALECT: Dialect = {
  begin: 'BEGIN IMMEDIATE',
  beginReading: 'BEGIN DEFERRED',
  // A statement: the file can have a table in place of the function of that name.
  found: () => ({ sql: 'PRAGMA main.table_list', parameters: [] }),
  clock: null,
  lockRow: '',
  jsonElements: (parameter) => `json_each(${parameter}) AS item`,
  jsonAt: (index) => `item.value ->> ${index}`,
  unindexed: (column) => `+${column}`,
  jsonRows: (columns) => `json_group_array(json_array(${columns.map(quoted).join(', ')}))`,
  place: (column) => `nullif(typeof(${column}), 'null') || ':' || hex(${column})`,
  placeAt: (parameter) => {
    const bytes = `unhex(substr(${parameter}, 6))`;
    return `CASE WHEN ${parameter} LIKE 'text:%' THEN CAST(${bytes} AS TEXT) ELSE ${bytes} END`;
  },
  storageForms: {
    // In SQLite's sort order, bytes follow everything else; this costs less than `typeof`.
    isBytes: (column) => `${column} >= x''`,
    form: (column) =>
      `CASE WHEN typeof(${column}) IN ('text', 'blob') THEN typeof(${column}) || ':' || hex(${column}) ELSE ${column} END`,
  },
};
