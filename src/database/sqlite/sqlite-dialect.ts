import { quoted, type Dialect } from '../dialect';

export const SQLITE_DIALECT: Dialect = {
  begin: 'BEGIN IMMEDIATE',
  lockRow: '',
  jsonElements: (parameter) => `json_each(${parameter}) AS item`,
  jsonAt: (index) => `item.value ->> ${index}`,
  jsonRows: (columns) => `json_group_array(json_array(${columns.map(quoted).join(', ')}))`,
  listContains: (column, parameter) =>
    `EXISTS (SELECT 1 FROM json_each(${quoted(column)}) AS element WHERE element.value = ${parameter})`,
};
