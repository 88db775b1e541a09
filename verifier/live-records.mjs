import { isObject, stateHashOf } from './entry-check.mjs';
import { normalFormC } from './evaluation/normal-form.mjs';
import { withoutSlash } from './evaluation/resources.mjs';
import { formOf, KINDS } from './hashed-forms.mjs';
import { parseCanonical } from './strict-json.mjs';

/** Matches all entries except those about refused callers, which have no state although their subject may have one. */
const SAYS_STATE = `"action" <> 'access.denied'`;
const CHUNK_RECORDS = 100;
const CHUNK_ENTRIES = 1_000;
/** The schema from which on every execution has a `resourceKey`; earlier ones gave it to those of a run. */
const KEYED_SCHEMA = 1_766_000_000_000;
/** SQL for the sequence of the entry that resumed an execution; null if there is none. */
const RESUMED_SQL =
  `(SELECT max(CASE WHEN "action" = 'execution.resumed' THEN "sequence" END) FROM "ledger_entries" ` +
  `WHERE "subjectId" = live."id")`;

/**
 * @typedef {import('./sqlite-file.mjs').SqliteFile} SqliteFile
 * @typedef {import('./sqlite-file.mjs').Row} Row
 * @typedef {import('./findings.mjs').Findings} Findings
 */

/**
 * Compares the records of a database with the last state that the chain has of each.
 * @param {SqliteFile} file
 * @param {Findings} findings
 * @returns {Promise<number>} how many records there were
 */
export async function checkRecords(file, findings) {
  let count = 0;
  for (const subjectType of Object.keys(KINDS)) {
    // A database of an earlier version lacks the tables of later kinds, and has no entries about them.
    if (await file.has(kindOf(subjectType).table)) count += await checkLive(file, subjectType, findings);
  }
  await checkRepetitions(file, findings);
  await checkMissing(file, findings);
  await noteUnknownKinds(file, findings);
  return count;
}

/**
 * Each chunk is one statement, so that a record and its last entry come from one snapshot. The next chunk begins after
 * the bytes of the last id, since text that is not UTF-8 changes on its way through the driver. Rows after ids that are
 * not text may be skipped; those ids are a fault already.
 * @param {SqliteFile} file
 * @param {string} subjectType
 * @param {Findings} findings
 */
async function checkLive(file, subjectType, findings) {
  const { table, owner } = kindOf(subjectType);
  const owners = owner === undefined ? '1' : await countSql(file, owner.kind, `live."${owner.column}"`);
  const leftovers = await leftoversSql(file, subjectType);
  // A database from before version 2 has no salts.
  const salt = (await file.hasColumn('ledger_entries', 'stateSalt')) ? 'last."stateSalt"' : 'NULL';
  const details = subjectType === 'erasure' ? 'last."details"' : 'NULL';
  const resourceKeySql = (await file.hasColumn('ledger_head', 'schemaVersion'))
    ? `(SELECT max("schemaVersion") >= ${KEYED_SCHEMA} FROM "ledger_head")`
    : '0';
  const hasResumes = subjectType === 'execution' && (await file.hasColumn('executions', 'resumedSequence'));
  const chunk = (/** @type {string} */ condition) =>
    `SELECT live.*, (SELECT min("sequence") FROM "ledger_entries" WHERE "subjectId" = live."id") AS "ledger.first", ` +
    `last."subjectType" AS "ledger.type", last."stateHash" AS "ledger.stateHash", last."state" AS "ledger.state", ` +
    `last."v" AS "ledger.v", ${salt} AS "ledger.stateSalt", ` +
    `last."timestamp" AS "ledger.timestamp", ${details} AS "ledger.details", ` +
    `last."entityId" AS "ledger.entityId", ${owners} AS "ledger.owners", ${resourceKeySql} AS "ledger.keyed", ` +
    `${leftovers} AS "ledger.leftovers", ${hasResumes ? RESUMED_SQL : 'NULL'} AS "ledger.resumed", ` +
    `(SELECT count(*) FROM "${table}" AS same WHERE same."id" = live."id") AS "ledger.same", ` +
    `CAST(live."id" AS BLOB) AS "ledger.id", typeof(live."id") AS "ledger.idType" FROM "${table}" AS live ` +
    `LEFT JOIN "ledger_entries" AS last ON last."sequence" = ` +
    `(SELECT max("sequence") FROM "ledger_entries" WHERE "subjectId" = live."id" AND ${SAYS_STATE}) ` +
    `${condition} ORDER BY live."id" LIMIT ${CHUNK_RECORDS}`;
  let count = 0;
  for (let rows = await file.allAsStored(chunk('')); ;) {
    for (const row of rows) {
      if (row['ledger.leftovers'] > 0) continue;
      const fault = recordFault(row, subjectType);
      if (fault !== undefined) findings.add('records', `${subjectType} ${row['id']}`, fault);
      count += 1;
    }
    const last = rows.at(-1);
    if (last?.['ledger.idType'] !== 'text') return count;
    rows = await file.allAsStored(chunk('WHERE live."id" > CAST(? AS TEXT)'), [last['ledger.id']]);
  }
}

/**
 * Returns SQL that counts the leftovers of a removed owner, whose rows may remain for some seconds. The last entry
 * about the owner must be its removal.
 * @param {SqliteFile} file
 * @param {string} subjectType
 */
async function leftoversSql(file, subjectType) {
  const { owner } = kindOf(subjectType);
  if (owner === undefined || !(await file.has('ledger_leftovers'))) return '0';
  const owners = await countSql(file, owner.kind, 'leftover."ownerId"');
  return (
    `(SELECT count(*) FROM "ledger_leftovers" AS leftover JOIN "ledger_entries" AS removal ON removal."sequence" = ` +
    `(SELECT max("sequence") FROM "ledger_entries" WHERE "subjectId" = leftover."ownerId" AND ${SAYS_STATE}) ` +
    `WHERE leftover."subjectType" = '${subjectType}' AND leftover."ownerId" = live."${owner.column}" ` +
    `AND removal."state" IS NULL AND ${owners} = 0)`
  );
}

/**
 * Returns SQL that counts the records of a kind with an id.
 * @param {SqliteFile} file
 * @param {string} subjectType
 * @param {string} id
 */
async function countSql(file, subjectType, id) {
  const { table } = kindOf(subjectType);
  return (await file.has(table)) ? `(SELECT count(*) FROM "${table}" AS found WHERE found."id" = ${id})` : '0';
}

/**
 * @param {Row} row
 * @param {string} subjectType
 */
function recordFault(row, subjectType) {
  if (row['ledger.idType'] !== 'text') return 'its id is not text';
  if (row['ledger.same'] !== 1) return 'its id is there twice';
  if (row['ledger.type'] !== subjectType) return 'no entry made it';
  if (row['ledger.stateHash'] === null) return 'its last entry removed it';
  if (row['ledger.owners'] === 0) return 'what it belongs to is not there';
  if (hashOfRecord(row, subjectType) !== row['ledger.stateHash']) return 'it is not as its last entry left it';
  if (row['createdSequence'] !== row['ledger.first']) return 'createdSequence does not match its first entry';
  if (subjectType === 'execution' && row['entityId'] !== row['ledger.entityId'])
    return 'entityId does not match its entry';
  if (subjectType === 'execution' && (row['principal'] ?? null) !== subjectOf(row['onBehalfOf'] ?? null))
    return 'principal is not the subject of onBehalfOf';
  if (subjectType === 'execution' && (row['resourceKey'] ?? null) !== resourceKeyOf(row))
    return 'resourceKey does not match its resource';
  if (subjectType === 'execution' && (row['resumedSequence'] ?? null) !== row['ledger.resumed'])
    return 'resumedSequence is not the sequence of its resume';
  const predicate = normalFormC(String(row['predicate']));
  if (subjectType === 'claim' && (row['predicateKey'] ?? predicate) !== predicate)
    return 'predicateKey does not match its predicate';
  if (subjectType === 'erasure' && !matchesCompletionEntry(row))
    return 'its time or its counts do not match its last entry';
  return undefined;
}

/**
 * Returns the key by which conditions find an execution; null if it is erased, or is not found by a key.
 * @param {Row} row
 */
function resourceKeyOf({ run = null, erased, resourceType, resourceId, 'ledger.keyed': isKeyed }) {
  if (erased === 'true' || (run === null && isKeyed !== 1)) return null;
  return `${resourceType}/${normalFormC(withoutSlash(String(resourceId)))}`;
}

/**
 * True if the record of an erasure has the time and the counts of its last entry, which are known only after its state
 * was sealed.
 * @param {Row} row
 */
function matchesCompletionEntry({ completedAt, entries, records, unsalted, ...entry }) {
  const [timestamp, details] = [entry['ledger.timestamp'], entry['ledger.details']];
  if (completedAt === null) return details === '{}' && [entries, records, unsalted].every((count) => count === null);
  return completedAt === timestamp && details === JSON.stringify({ entries, records, unsalted });
}

/**
 * Hashes the members that a state has. Members added to a kind later count if they are set, and so do members that the
 * seal of a version later than this verifier contains.
 * @param {Row} row
 * @param {string} subjectType
 */
function hashOfRecord(row, subjectType) {
  const { members, later = {}, json } = kindOf(subjectType);
  const set = Object.keys(later).filter((name) => (row[name] ?? later[name]) !== later[name]);
  try {
    const sealedState = /** @type {unknown} */ (JSON.parse(row['ledger.state']));
    const names = new Set([...members, ...set, ...(isObject(sealedState) ? Object.keys(sealedState) : [])]);
    const state = [...names].map((name) => {
      const isJson = json.includes(name) && row[name] !== null;
      return [name, isJson ? parseCanonical(row[name]) : row[name]];
    });
    return stateHashOf(Object.fromEntries(state), row['ledger.v'], row['ledger.stateSalt']);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

/** @param {string | null} onBehalfOf as it is stored, and sealed */
function subjectOf(onBehalfOf) {
  return onBehalfOf === null ? null : JSON.parse(onBehalfOf).subject;
}

/**
 * Adds a fault for each decision whose principal or run differs from its execution's.
 * @param {SqliteFile} file
 * @param {Findings} findings
 */
async function checkRepetitions(file, findings) {
  if (!(await file.hasColumn('decisions', 'run')) || !(await file.has('executions'))) return;
  const rows = await file.all(
    `SELECT decision."id" FROM "decisions" AS decision LEFT JOIN "executions" AS own ON own."id" = decision."executionId" ` +
      `WHERE decision."run" IS NOT own."run" OR decision."onBehalfOf" IS NOT own."onBehalfOf"`,
  );
  for (const { id } of rows)
    findings.add('records', `decision ${id}`, 'it is not on behalf, or in the run, of its execution');
}

/**
 * Adds a fault for each record that is not in its table although its last entry has its state.
 * @param {SqliteFile} file
 * @param {Findings} findings
 */
async function checkMissing(file, findings) {
  const missingConditions = [];
  for (const subjectType of Object.keys(KINDS)) {
    const records = await countSql(file, subjectType, 'entry."subjectId"');
    missingConditions.push(`(entry."subjectType" = '${subjectType}' AND ${records} = 0)`);
  }
  const sql =
    `SELECT entry."sequence", entry."subjectType", entry."subjectId" FROM "ledger_entries" AS entry ` +
    `WHERE entry."sequence" > ? AND entry."sequence" <= ? AND entry."state" IS NOT NULL AND NOT EXISTS ` +
    `(SELECT 1 FROM "ledger_entries" AS later WHERE later."subjectId" = entry."subjectId" ` +
    `AND later."sequence" > entry."sequence" AND later.${SAYS_STATE}) AND (${missingConditions.join(' OR ')})`;
  const end =
    `SELECT max("sequence") AS "last" FROM (SELECT "sequence" FROM "ledger_entries" WHERE "sequence" > ? ` +
    `AND "sequence" <= ${Number.MAX_SAFE_INTEGER} ORDER BY "sequence" LIMIT ${CHUNK_ENTRIES})`;
  for (let after = 0; ;) {
    const last = (await file.all(end, [after]))[0]?.['last'] ?? null;
    if (last === null) return;
    for (const row of await file.all(sql, [after, last])) {
      if (!(await wasRemovedWithOwner(file, row))) {
        findings.add(
          'records',
          `${row['subjectType']} ${row['subjectId']}`,
          'is missing: its last entry left it there',
        );
      }
    }
    after = last;
  }
}

/**
 * @param {SqliteFile} file
 * @param {Row} entry
 */
async function wasRemovedWithOwner(file, { sequence, subjectType }) {
  const { owner } = kindOf(subjectType);
  if (owner === undefined) return false;
  const [removal] = await file.all(
    `SELECT last."state" FROM "ledger_entries" AS entry JOIN "ledger_entries" AS last ON last."sequence" = ` +
      `(SELECT max("sequence") FROM "ledger_entries" WHERE "subjectId" = json_extract(entry."state", ?) AND ${SAYS_STATE}) ` +
      `WHERE entry."sequence" = ? AND json_valid(entry."state")`,
    [`$.${owner.column}`, sequence],
  );
  return removal !== undefined && removal['state'] === null;
}

/**
 * @param {SqliteFile} file
 * @param {Findings} findings
 */
async function noteUnknownKinds(file, findings) {
  const kinds = Object.keys(KINDS).map((name) => `'${name}'`);
  const rows = await file.all(
    `SELECT DISTINCT "subjectType" FROM "ledger_entries" WHERE "subjectType" NOT IN (${kinds.join(', ')}) AND ${SAYS_STATE}`,
  );
  for (const { subjectType } of rows) {
    findings.note(
      `Records of the kind ${subjectType} were not compared with the chain: this verifier does not know them.`,
    );
  }
}

/** @param {string} subjectType */
function kindOf(subjectType) {
  const kind = formOf(subjectType);
  if (kind === undefined) throw new Error(`unknown kind ${subjectType}`);
  return kind;
}
