/**
 * Verifies an export of the chain or a database without the service. It shares no code with it: everything here follows
 * docs/adr/0003-hash-format.md and docs/checkpoints.md, with nothing but Node.js (and its sqlite3 driver for a
 * database).
 */
import { Chain } from './chain.mjs';
import { checkCheckpoints } from './checkpoint-check.mjs';
import { messageOf, readCommandLine, USAGE, UsageError } from './command-line.mjs';
import { checkDatabase } from './database-check.mjs';
import { verifyDecisionFile } from './decision-file.mjs';
import { textOf } from './decision/result-text.mjs';
import { readExport } from './export-file.mjs';
import { Findings } from './findings.mjs';
import { shown } from './shown.mjs';

const [VALID, INVALID, UNREADABLE, INCOMPLETE] = [0, 1, 2, 3];

/** @param {string[]} words */
async function main(words) {
  const order = readCommandLine(words);
  if (order === null) {
    process.stdout.write(USAGE);
    return;
  }
  if (order.isDecision) return printDecision(order);
  const findings = new Findings();
  const { chain, records, unended } = await check(order, findings);
  await checkCheckpoints(chain, order.checkpoints, order.keys, findings);
  if (order.head !== null && (order.head.sequence !== chain.sequence || order.head.hash !== chain.hash)) {
    findings.add('head', '--head', `the chain ends at ${chain.sequence}, ${chain.hash}`);
  }
  for (const path of unended)
    findings.note(`${path} has no last line that says where it ends: it may have been cut off.`);
  noteErased(chain.erasures, findings);
  const complete = unended.length === 0;
  const valid = findings.count === 0 && (complete || order.mayBeUnended);
  const result = {
    valid,
    complete,
    entries: chain.tree.size,
    head: { sequence: chain.sequence, hash: chain.hash },
    rootHash: chain.tree.root.toString('hex'),
    erased: chain.erasures.count,
    records,
    checkpoints: order.checkpoints.length,
    faults: findings.count,
    firstFaults: findings.first,
    notes: findings.notes,
  };
  process.stdout.write(order.asJson ? `${shown(JSON.stringify(result))}\n` : text(result));
  process.exitCode = valid ? VALID : findings.count > 0 ? INVALID : INCOMPLETE;
}

/** @param {import('./command-line.mjs').Order} order */
async function printDecision(order) {
  const result = await verifyDecisionFile(order);
  process.stdout.write(order.asJson ? `${shown(JSON.stringify(result))}\n` : textOf(result));
  process.exitCode = result.recomputed ? VALID : INVALID;
}

/**
 * @param {import('./command-line.mjs').Order} order
 * @param {Findings} findings
 * @returns {Promise<{ chain: Chain, records: number | null, unended: string[] }>} `unended`: the files without an end
 */
async function check({ files, isDatabase, checkpoints, head, mayBeUnended }, findings) {
  const sizes = new Set(checkpoints.map(({ checkpoint }) => checkpoint.size));
  const [file = ''] = files;
  if (isDatabase) return { ...(await checkDatabase(file, findings, sizes)), unended: [] };
  const chain = new Chain(findings, sizes);
  const unended = [];
  for (const path of files) {
    const last = await readExport(path, chain);
    if (last !== 'end') unended.push(path);
    // Earlier versions wrote no end line, but their lines are complete.
    if (last === 'cut' && mayBeUnended) chain.addUnreadable('the last line has no line break: the file was cut');
  }
  await chain.requireErasures();
  if (head === null && checkpoints.length === 0) {
    findings.note('Only the export says where the chain should end: neither --head nor --checkpoint was given.');
  }
  return { chain, records: null, unended };
}

/**
 * @param {import('./erasures.mjs').Erasures} erasures
 * @param {Findings} findings
 */
function noteErased({ unsalted }, findings) {
  if (unsalted === 0) return;
  findings.note(`${unsalted} of the erased entries are of version 1: their audit entries cannot be checked any more.`);
}

/**
 * For people; the last line is the verdict.
 * @param {{ valid: boolean, entries: number, head: { sequence: number, hash: string }, rootHash: string,
 *   erased: number, records: number | null, checkpoints: number, faults: number, firstFaults: import('./findings.mjs').Finding[],
 *   notes: string[] }} result
 */
function text({ valid, entries, head, rootHash, erased, records, checkpoints, faults, firstFaults, notes }) {
  const lines = [
    `entries      ${entries}`,
    `head         ${head.sequence} ${head.hash}`,
    `tree root    ${rootHash}`,
    ...(erased === 0 ? [] : [`erased       ${erased}`]),
    ...(records === null ? [] : [`records      ${records}`]),
    ...(checkpoints === 0 ? [] : [`checkpoints  ${checkpoints}`]),
    ...firstFaults.map(({ layer, place, fault }) => `FAULT ${layer}: ${place}: ${fault}`),
    ...(faults > firstFaults.length ? [`… and ${faults - firstFaults.length} more`] : []),
    ...notes.map((note) => `NOTE ${note}`),
    valid ? 'VALID' : faults > 0 ? `INVALID: ${faults} ${faults === 1 ? 'fault' : 'faults'}` : 'INCOMPLETE',
  ];
  return `${lines.map(shown).join('\n')}\n`;
}

main(process.argv.slice(2)).catch((error) => {
  const message = shown(messageOf(error));
  process.stderr.write(error instanceof UsageError ? `${message}\n${error.help}` : `Could not be read: ${message}\n`);
  process.exitCode = UNREADABLE;
});
