import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { Chain } from './chain.mjs';
import { checkCheckpoints } from './checkpoint-check.mjs';
import { parseCheckpoint } from './checkpoint.mjs';
import { checkDecisionFile } from './decision/check.mjs';
import { requireSize, textIn } from './decision/read-file.mjs';
import { isObject } from './entry-check.mjs';
import { endlessNote, readExports } from './export-file.mjs';

/**
 * Verifies and recomputes the decision file that a command line names.
 *
 * @typedef {import('./command-line.mjs').Order} Order
 */

const SUBJECT_ID = /(?:exe|dec)_[0-9A-HJKMNP-TV-Z]{26}/;

/**
 * @param {Order} order
 * @param {AsyncIterable<Buffer>} stdin
 */
export async function verifyDecisionFile({ files: [path = ''], keys, exports }, stdin) {
  const text = readText(path);
  const result = await checkDecisionFile(text, keys, exports.length === 0 ? undefined : feedLog);
  const [namedId] = SUBJECT_ID.exec(basename(path)) ?? [];
  const id = result.executionId ?? result.decisionId;
  if (namedId !== undefined && id !== null && namedId !== id)
    result.notes.push(`The file is named after ${namedId}, and is of ${id}.`);
  return result;

  /** @type {import('./decision/check.mjs').FeedLog} */
  async function feedLog(log, size, findings) {
    const chain = new Chain(findings, new Set([size]), {
      onDifference: (difference) => log.differences.push(difference),
      ownOf: (entry) => log.ownOf(entry),
    });
    const reader = {
      add: async (/** @type {unknown} */ entry) => {
        await chain.add(entry);
        if (isObject(entry) && isObject(entry['audit'])) log.add(entry);
      },
      end: chain.end.bind(chain),
      addUnreadable: chain.addUnreadable.bind(chain),
    };
    const endlessFiles = await readExports(exports, chain, { reader, stdin, mayBeUnended: false });
    for (const path of endlessFiles) log.gaps.push({ sequence: 0, difference: endlessNote(path) });
    log.addUndecided(chain.undecided);
    const checkpoint = parseCheckpoint(JSON.parse(text).checkpoint);
    await checkCheckpoints(chain, [{ name: 'the checkpoint of the file', checkpoint }], keys, findings);
  }
}

/** @param {string} path */
function readText(path) {
  requireSize(statSync(path).size);
  return textIn(readFileSync(path));
}
