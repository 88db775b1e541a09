import { Chain } from './chain.mjs';
import { checkErased, readDatabaseChain, saidAt } from './database-chain.mjs';
import { KINDS } from './hashed-forms.mjs';
import { checkRecords } from './live-records.mjs';
import { SqliteFile } from './sqlite-file.mjs';

/** Subtrees of every eighth level are kept in the database. */
const KEPT_LEVELS = 8;

/**
 * The ledger's own tables that are read, with the layer that each belongs to.
 * @type {Readonly<Record<string, import('./findings.mjs').Layer>>}
 */
const LEDGER_TABLES = {
  ledger_entries: 'chain',
  ledger_head: 'head',
  ledger_tree_nodes: 'tree',
  ledger_leftovers: 'records',
};

const EXTENT =
  `SELECT head.*, last."sequence" AS "lastSequence" FROM (SELECT max("sequence") AS "sequence" FROM "ledger_entries" ` +
  `WHERE "sequence" <= ${Number.MAX_SAFE_INTEGER}) AS last LEFT JOIN "ledger_head" AS head ON head."id" = 1`;

/**
 * Checks a database: its chain, the end of the chain according to the head record, its tree, and its records.
 * @param {string} path
 * @param {import('./findings.mjs').Findings} findings
 * @param {ReadonlySet<number>} sizes whose roots are needed
 * @returns {Promise<{ chain: Chain, records: number }>}
 */
export async function checkDatabase(path, findings, sizes) {
  const file = await SqliteFile.open(path);
  try {
    /** @type {Map<string, string>} */
    const kept = new Map();
    const chain = new Chain(findings, sizes, ({ level, position, hash }) => {
      if (level > 0 && level % KEPT_LEVELS === 0) kept.set(`${level}/${position}`, hash.toString('hex'));
    });
    const areFalse = await checkTables(file, findings);
    if (areFalse.has('ledger_entries') || areFalse.has('ledger_head')) return { chain, records: 0 };
    const head = (await file.all(EXTENT))[0] ?? {};
    await readDatabaseChain(file, chain, head['lastSequence']);
    await chain.requireErasures((sequence) => saidAt(file, chain, sequence));
    await checkErased(file, findings);
    checkHead(head, chain, findings);
    if (await file.has('ledger_tree_nodes')) await checkTree(file, kept, chain.tree.size, findings);
    else noteNoTree(head, areFalse, findings);
    return { chain, records: await checkRecords(file, findings) };
  } finally {
    await file.close();
  }
}

/**
 * What is no table holds no rows of its own: a view may show this program other rows than the service, or other rows
 * tomorrow. So nothing is read through one.
 * @param {SqliteFile} file
 * @param {import('./findings.mjs').Findings} findings
 * @returns {Promise<ReadonlySet<string>>} names of tables under which there is something else
 */
async function checkTables(file, findings) {
  const areFalse = new Set();
  for (const table of [...Object.keys(LEDGER_TABLES), ...Object.values(KINDS).map((kind) => kind.table)]) {
    const type = await file.typeOf(table);
    if (type === undefined || type === 'table') continue;
    areFalse.add(table);
    findings.add(LEDGER_TABLES[table] ?? 'records', `the table ${table}`, `is not an ordinary table (${type})`);
  }
  return areFalse;
}

/**
 * Only a database of a version without a tree may lack it.
 * @param {import('./sqlite-file.mjs').Row} head
 * @param {ReadonlySet<string>} areFalse
 * @param {import('./findings.mjs').Findings} findings
 */
function noteNoTree({ frontier }, areFalse, findings) {
  if (areFalse.has('ledger_tree_nodes')) return;
  if (frontier === undefined) findings.note('The tree was not checked: this database is of a version without one.');
  else findings.add('tree', 'the table ledger_tree_nodes', 'is missing');
}

/**
 * @param {import('./sqlite-file.mjs').Row} head
 * @param {Chain} chain
 * @param {import('./findings.mjs').Findings} findings
 */
function checkHead(head, chain, findings) {
  const { sequence, hash, frontier } = head;
  if (sequence === null || sequence === undefined) return findings.add('head', 'the head record', 'is gone');
  if (sequence !== chain.sequence || hash !== chain.hash) {
    findings.add(
      'head',
      'the head record',
      `says ${sequence}, ${hash}; the chain ends at ${chain.sequence}, ${chain.hash}`,
    );
  }
  if (frontier !== undefined && frontier !== chain.tree.frontier) {
    findings.add('tree', 'the head record', 'its frontier is not that of the entries');
  }
}

/**
 * @param {import('./sqlite-file.mjs').SqliteFile} file
 * @param {ReadonlyMap<string, string>} kept as they should be
 * @param {number} size
 * @param {import('./findings.mjs').Findings} findings
 */
async function checkTree(file, kept, size, findings) {
  const missing = new Set(kept.keys());
  const nodes = `SELECT *, (SELECT max("sequence") FROM "ledger_entries") AS "sizeNow" FROM "ledger_tree_nodes"`;
  for (const { level, position, hash, sizeNow } of await file.all(nodes)) {
    const name = `${level}/${position}`;
    const end = (position + 1) * 2 ** level;
    // Whatever a running service has added since the chain was read is ignored.
    const isLater = level > 0 && level % KEPT_LEVELS === 0 && end > size && end <= sizeNow;
    missing.delete(name);
    const isNode = Number.isInteger(level) && Number.isInteger(position) && typeof hash === 'string';
    if (!isNode || (kept.get(name) !== hash && !isLater))
      findings.add('tree', `tree node ${name}`, 'is not that of the entries');
  }
  for (const name of missing) findings.add('tree', `tree node ${name}`, 'is missing');
}
