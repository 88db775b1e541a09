import { Chain } from './chain.mjs';
import { checkErased, readDatabaseChain, readSubjectAt } from './database-chain.mjs';
import { KINDS } from './hashed-forms.mjs';
import { checkRecords } from './live-records.mjs';
import { SqliteFile } from './sqlite-file.mjs';

/** The database stores the subtrees of every eighth level. */
const STORED_LEVELS = 8;

/**
 * The ledger's own tables that the verifier reads, each with its layer.
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
    const nodesByKey = new Map();
    const chain = new Chain(findings, sizes, {
      onSubtree: ({ level, position, hash }) => {
        if (level > 0 && level % STORED_LEVELS === 0) nodesByKey.set(`${level}/${position}`, hash.toString('hex'));
      },
    });
    const areFalse = await checkTables(file, findings);
    if (areFalse.has('ledger_entries') || areFalse.has('ledger_head')) return { chain, records: 0 };
    const head = (await file.all(EXTENT))[0] ?? {};
    await readDatabaseChain(file, chain, head['lastSequence']);
    await chain.requireErasures((sequence) => readSubjectAt(file, chain, sequence));
    await checkErased(file, findings);
    checkHead(head, chain, findings);
    if (await file.has('ledger_tree_nodes')) await checkTree(file, nodesByKey, chain.tree.size, findings);
    else noteNoTree(head, areFalse, findings);
    return { chain, records: await checkRecords(file, findings) };
  } finally {
    await file.close();
  }
}

/**
 * Only tables are read. A view has no rows of its own: it may show this program other rows than the service, or other
 * rows tomorrow.
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
    const layer = Object.hasOwn(LEDGER_TABLES, table) ? LEDGER_TABLES[table] : undefined;
    findings.add(layer ?? 'records', `the table ${table}`, `is not an ordinary table (${type})`);
  }
  return areFalse;
}

/**
 * Adds a fault if the tree is missing, unless the database is of a version without a tree.
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
    findings.add('tree', 'the head record', 'its frontier does not match the entries');
  }
}

/**
 * @param {import('./sqlite-file.mjs').SqliteFile} file
 * @param {ReadonlyMap<string, string>} nodesByKey as they should be
 * @param {number} size
 * @param {import('./findings.mjs').Findings} findings
 */
async function checkTree(file, nodesByKey, size, findings) {
  const missingNodes = new Set(nodesByKey.keys());
  const nodes = `SELECT *, (SELECT max("sequence") FROM "ledger_entries") AS "sizeNow" FROM "ledger_tree_nodes"`;
  for (const { level, position, hash, sizeNow } of await file.all(nodes)) {
    const name = `${level}/${position}`;
    const end = (position + 1) * 2 ** level;
    // Nodes that a running service has added since the chain was read are ignored.
    const isLater = level > 0 && level % STORED_LEVELS === 0 && end > size && end <= sizeNow;
    missingNodes.delete(name);
    const isNode = Number.isInteger(level) && Number.isInteger(position) && typeof hash === 'string';
    if (!isNode || (nodesByKey.get(name) !== hash && !isLater))
      findings.add('tree', `tree node ${name}`, 'does not match the entries');
  }
  for (const name of missingNodes) findings.add('tree', `tree node ${name}`, 'is missing');
}
