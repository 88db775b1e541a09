import { Chain } from './chain.mjs';
import { checkCheckpoints } from './checkpoint-check.mjs';
import { messageOf, readCommandLine, USAGE, UsageError } from './command-line.mjs';
import { checkDatabase } from './database-check.mjs';
import { verifyDecisionFile } from './decision-file.mjs';
import { textOf } from './decision/result-text.mjs';
import { endlessNote, readExports } from './export-file.mjs';
import { Findings } from './findings.mjs';
import { printableText } from './printable-text.mjs';

/**
 * The streams of a process, or their substitutes in a test.
 * @typedef {{ stdin: AsyncIterable<Buffer>, stdout: Output, stderr: Output }} Streams
 * @typedef {{ write(text: string): unknown }} Output
 */

const [VALID, INVALID, UNREADABLE, INCOMPLETE] = [0, 1, 2, 3];

/**
 * Runs the command line. Writes the result to `stdout`, or the reason why there is none to `stderr`.
 * @param {string[]} words
 * @param {Streams} streams
 * @returns {Promise<number>} the exit code
 */
export async function verify(words, streams) {
  try {
    return await answer(words, streams);
  } catch (error) {
    const message = printableText(messageOf(error));
    streams.stderr.write(error instanceof UsageError ? `${message}\n${error.help}` : `Could not be read: ${message}\n`);
    return UNREADABLE;
  }
}

/**
 * @param {string[]} words
 * @param {Streams} streams
 */
async function answer(words, streams) {
  const order = readCommandLine(words);
  if (order === null) {
    streams.stdout.write(USAGE);
    return VALID;
  }
  return order.isDecision ? answerOnDecision(order, streams) : answerOnChain(order, streams);
}

/**
 * @param {import('./command-line.mjs').Order} order
 * @param {Streams} streams
 */
async function answerOnChain(order, { stdin, stdout }) {
  const findings = new Findings();
  const { chain, records, endlessFiles } = await check(order, findings, stdin);
  await checkCheckpoints(chain, order.checkpoints, order.keys, findings);
  if (order.head !== null && (order.head.sequence !== chain.sequence || order.head.hash !== chain.hash)) {
    findings.add('head', '--head', `the chain ends at ${chain.sequence}, ${chain.hash}`);
  }
  for (const path of endlessFiles) findings.note(endlessNote(path));
  noteErased(chain.erasures, findings);
  const complete = endlessFiles.length === 0;
  const valid = findings.count === 0 && (complete || order.mayBeUnended);
  const result = {
    valid,
    complete,
    entries: chain.tree.size,
    head: { sequence: chain.sequence, hash: chain.hash },
    rootHash: chain.tree.root.toString('hex'),
    erased: chain.erasures.erasedCount,
    records,
    checkpoints: order.checkpoints.length,
    faults: findings.count,
    firstFaults: findings.first,
    notes: findings.notes,
  };
  stdout.write(order.asJson ? `${printableText(JSON.stringify(result))}\n` : text(result));
  if (valid) return VALID;
  return findings.count > 0 ? INVALID : INCOMPLETE;
}

/**
 * @param {import('./command-line.mjs').Order} order
 * @param {Streams} streams
 */
async function answerOnDecision(order, { stdin, stdout }) {
  const result = await verifyDecisionFile(order, stdin);
  stdout.write(order.asJson ? `${printableText(JSON.stringify(result))}\n` : textOf(result));
  if (result.undecided !== null) return UNREADABLE;
  if (result.recomputed) return VALID;
  return result.faults === 0 && result.differences.length === 0 ? INCOMPLETE : INVALID;
}

/**
 * @param {import('./command-line.mjs').Order} order
 * @param {Findings} findings
 * @param {AsyncIterable<Buffer>} stdin
 * @returns {Promise<{ chain: Chain, records: number | null, endlessFiles: string[] }>} `endlessFiles`: the files
 *   without an end
 */
async function check({ files, isDatabase, checkpoints, head, mayBeUnended }, findings, stdin) {
  const sizes = new Set(checkpoints.map(({ checkpoint }) => checkpoint.size));
  const [file = ''] = files;
  if (isDatabase) return { ...(await checkDatabase(file, findings, sizes)), endlessFiles: [] };
  const chain = new Chain(findings, sizes);
  const endlessFiles = await readExports(files, chain, { stdin, mayBeUnended });
  if (head === null && checkpoints.length === 0) {
    findings.note('Only the export says where the chain should end: neither --head nor --checkpoint was given.');
  }
  return { chain, records: null, endlessFiles };
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
 * Returns the result as text for people; its last line is the verdict.
 * @param
 *   {{ valid: boolean, entries: number, head: { sequence: number, hash: string }, rootHash: string, erased: number, records: number | null, checkpoints: number, faults: number, firstFaults: import('./findings.mjs').Finding[], notes: string[] }}
 *   result
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
  return `${lines.map(printableText).join('\n')}\n`;
}
