import { Chain } from './chain.mjs';
import { readDatabaseChain } from './database-chain.mjs';
import { checkRecords } from './live-records.mjs';
import { SqliteFile } from './sqlite-file.mjs';

/** Subtrees of every eighth level are kept in the database. */
const KEPT_LEVELS = 8;

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
    const head = (await file.all(EXTENT))[0] ?? {};
    await readDatabaseChain(file, chain, head['lastSequence']);
    checkHead(head, chain, findings);
    if (await file.has('ledger_tree_nodes')) await checkTree(file, kept, chain.tree.size, findings);
    return { chain, records: await checkRecords(file, findings) };
  } finally {
    await file.close();
  }
}

/**
 * @param {import('./sqlite-file.mjs').Row} head
 * @param {Chain} chain
 * @param {import('./findings.mjs').Findings} findings
 */
function checkHead(head, chain, findings) {
  const { sequence, hash, frontier } = head;
  if (sequence === null || sequence === undefined) return void findings.add('head', 'the head record', 'is gone');
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
