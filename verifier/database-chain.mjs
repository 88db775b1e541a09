import { messageOf } from './command-line.mjs';
import { ERASABLE_TYPES } from './erasures.mjs';
import { parseCanonical } from './strict-json.mjs';

/** Entries read at once: their maximum number, and the maximum bytes of their long members. */
const CHUNK_ENTRIES = 500;
const CHUNK_BYTES = 4_000_000;

const END_OF_CHUNK =
  `SELECT max("sequence") AS "last" FROM (SELECT "sequence", row_number() OVER (ORDER BY "sequence") AS "number", ` +
  `sum(octet_length("details") + coalesce(octet_length("state"), 0)) OVER (ORDER BY "sequence") AS "bytes" FROM ` +
  `(SELECT "sequence", "details", "state" FROM "ledger_entries" WHERE "sequence" > ? AND "sequence" <= ? ` +
  `ORDER BY "sequence" LIMIT ${CHUNK_ENTRIES})) WHERE "number" = 1 OR "bytes" <= ${CHUNK_BYTES}`;
/**
 * Selects rows that cannot be entries of the service. They are not read: the driver rounds larger numbers, so that
 * paging by them would never end.
 */
const STRANGE_ENTRIES =
  `SELECT count(*) AS "count" FROM "ledger_entries" WHERE typeof("sequence") <> 'integer' ` +
  `OR "sequence" NOT BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER}`;
const RESTORED =
  `SELECT entry."sequence", erasure."sequence" AS "by" FROM "ledger_entries" AS erasure JOIN "ledger_entries" AS entry ` +
  `ON entry."sequence" < erasure."sequence" AND (entry."subjectId" = erasure."subjectId" ` +
  `OR (erasure."subjectType" = 'entity' AND entry."entityId" = erasure."subjectId" AND entry."subjectType" = 'claim')) ` +
  `WHERE erasure."action" IN (${ERASABLE_TYPES.map((type) => `'${type}.erased'`).join(', ')}) ` +
  `AND entry."erased" IS NULL AND entry."action" NOT LIKE '%.erased'`;
const NOT_PENDING =
  `AND NOT EXISTS (SELECT 1 FROM "ledger_leftovers" AS leftover ` +
  `WHERE leftover."subjectType" = 'erased ' || erasure."subjectType" AND leftover."ownerId" = erasure."subjectId")`;
const CHUNK = `SELECT * FROM "ledger_entries" WHERE "sequence" > ? AND "sequence" <= ? ORDER BY "sequence"`;

/** Columns that the entry and its audit entry have in common, or that only the entry has. */
const OF_ENTRY = [
  'v',
  'sequence',
  'id',
  'timestamp',
  'action',
  'subjectType',
  'subjectId',
  'auditId',
  'auditHash',
  'stateHash',
  'previousHash',
  'hash',
];
/** Further columns of the entry. A database from before version 2 lacks them. */
const OF_VERSION_2 = ['detailsHash', 'detailsSalt', 'stateSalt', 'erased'];
const OF_AUDIT = [
  'sequence',
  'timestamp',
  'action',
  'agentId',
  'entityId',
  'subjectType',
  'subjectId',
  'outcome',
  'reason',
  'requestId',
  'ip',
];

/**
 * Feeds a chain with the entries of a database.
 * @param {import('./sqlite-file.mjs').SqliteFile} file
 * @param {import('./chain.mjs').Chain} chain
 * @param {number | null} upTo the last sequence that is a safe integer
 */
export async function readDatabaseChain(file, chain, upTo) {
  const { count } = (await file.all(STRANGE_ENTRIES))[0] ?? {};
  if (count > 0) chain.findings.add('chain', 'the entries', `${count} have a sequence outside 1 to 2^53 - 1`);
  if (upTo === null) return;
  for (let after = 0; ;) {
    const [end] = await file.all(END_OF_CHUNK, [after, upTo]);
    if (end?.['last'] === null || end === undefined) return;
    for (const row of await file.allAsStored(CHUNK, [after, end['last']])) await addRow(row, chain);
    after = end['last'];
  }
}

/**
 * Finds erased contents that are in the database again: anyone who can write it can restore them. Contents that the
 * service is still emptying only cause a note.
 * @param {import('./sqlite-file.mjs').SqliteFile} file
 * @param {import('./findings.mjs').Findings} findings
 */
export async function checkErased(file, findings) {
  // The database is of a version without erasures.
  if (!(await file.hasColumn('ledger_entries', 'erased'))) return;
  const notPendingSql = (await file.has('ledger_leftovers')) ? NOT_PENDING : '';
  for (const { sequence, by } of await file.all(`${RESTORED} ${notPendingSql}`))
    findings.add('chain', `entry ${sequence}`, `holds contents, but entry ${by} says that they were erased`);
}

/**
 * @param {import('./sqlite-file.mjs').Row} row
 * @param {import('./chain.mjs').Chain} chain
 */
async function addRow(row, chain) {
  const [details, state] = [storedText(row, 'details', chain), storedText(row, 'state', chain)];
  const audit = { id: row['auditId'], actor: { type: row['actorType'], id: row['actorId'] }, details };
  await chain.add({ ...only(row, OF_ENTRY), ...saltsOf(row), audit: { ...audit, ...only(row, OF_AUDIT) }, state });
}

/**
 * Returns the details and the state of a row in the form of an export.
 * @param {import('./sqlite-file.mjs').Row} row
 */
function saltsOf(row) {
  const [detailsHash, details, state, erased] = OF_VERSION_2.map((column) => row[column] ?? null);
  const isUnsalted = row['v'] === 1 && details === null && state === null;
  const salts = isUnsalted ? null : { details, state };
  return { detailsHash, salts, ...(erased === null ? {} : { erased }) };
}

/**
 * Reads the subject, details and state of the entry with a sequence. Returns undefined if there is no such entry.
 * @param {import('./sqlite-file.mjs').SqliteFile} file
 * @param {import('./chain.mjs').Chain} chain
 * @param {number} sequence
 */
export async function readSubjectAt(file, chain, sequence) {
  const columns = `"sequence", "action", "subjectType", "subjectId", "details", "state"`;
  const [row] = await file.all(`SELECT ${columns} FROM "ledger_entries" WHERE "sequence" = ?`, [sequence]);
  if (row === undefined) return undefined;
  const [details, state] = [storedText(row, 'details', chain), storedText(row, 'state', chain)];
  return { ...row, audit: { details }, state };
}

/**
 * @param {import('./sqlite-file.mjs').Row} row
 * @param {string} column
 * @param {import('./chain.mjs').Chain} chain
 */
function storedText(row, column, chain) {
  const text = row[column];
  if (text === null) return null;
  try {
    return parseCanonical(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const fault = `${column} is not stored as canonical JSON: ${messageOf(error)}`;
    chain.findings.add('chain', `entry ${row['sequence']}`, fault);
    return String(text);
  }
}

/**
 * @param {import('./sqlite-file.mjs').Row} row
 * @param {readonly string[]} columns
 */
function only(row, columns) {
  return Object.fromEntries(columns.map((column) => [column, row[column]]));
}
