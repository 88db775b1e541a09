import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { isObject } from './entry-check.mjs';
import { parseStrictly } from './strict-json.mjs';

/** @typedef {Pick<import('./chain.mjs').Chain, 'add' | 'end' | 'addUnreadable'>} Reader */

/**
 * Feeds a chain with exports, one after another, and ends it.
 * @param {readonly string[]} paths `-` for standard input
 * @param {import('./chain.mjs').Chain} chain
 * @param {{ reader?: Reader, stdin: AsyncIterable<Buffer>, mayBeUnended: boolean }} how `reader` takes the lines before
 *   the chain; `mayBeUnended`: the last file may lack an end, as in those that earlier versions wrote
 * @returns {Promise<string[]>} the paths without an end
 */
export async function readExports(paths, chain, { reader = chain, stdin, mayBeUnended }) {
  const endless = [];
  let isCut = false;
  for (const path of paths) {
    const last = await readExport(path, reader, stdin);
    isCut = last !== 'end' && !mayBeUnended;
    if (last !== 'end') endless.push(path);
    if (last === 'cut' && mayBeUnended) chain.addUnreadable('the last line has no line break: the file was cut');
  }
  if (isCut) chain.endCut();
  else await chain.requireErasures();
  return endless;
}

/**
 * Feeds a chain with an export: a line of JSON for each entry, and one for its end. A file of several parts, made with
 * `after`, has an end for each.
 * @param {string} path `-` for standard input
 * @param {Reader} chain
 * @param {AsyncIterable<Buffer>} stdin
 * @returns {Promise<'end' | 'entry' | 'cut'>} what its last line is. A cut line is not read: a broken connection
 *   leaves a partial line, which says nothing about the data.
 */
async function readExport(path, chain, stdin) {
  /** @type {'end' | 'entry'} */
  let last = 'entry';
  for await (const { line, isWhole } of lines(path === '-' ? stdin : createReadStream(path))) {
    if (!isWhole) return 'cut';
    last = 'entry';
    try {
      const value = parseStrictly(line);
      if (isEnd(value)) {
        chain.end(value);
        last = 'end';
      } else {
        await chain.add(value);
      }
    } catch (error) {
      // Any other error comes from the verifier, and says nothing about the data.
      if (!(error instanceof SyntaxError)) throw error;
      chain.addUnreadable(`a line is not JSON: ${error.message}`);
    }
  }
  return last;
}

/**
 * Says that an export has no end: whatever it had after its last whole line is not known.
 * @param {string} path
 */
export function endlessNote(path) {
  return `${path} has no last line that says where it ends: it may have been cut off.`;
}

/**
 * @param {unknown} line
 * @returns {line is { end: unknown }}
 */
function isEnd(line) {
  return isObject(line) && Object.keys(line).join() === 'end';
}

/**
 * @param {AsyncIterable<Buffer>} chunks
 * @returns {AsyncGenerator<{ line: string, isWhole: boolean }>}
 */
async function* lines(chunks) {
  const decoder = new StringDecoder('utf8');
  /** Parts of a line that has not ended yet; joined once, because the line may be long. @type {string[]} */
  let begun = [];
  for await (const chunk of chunks) {
    const [end = '', ...lines] = decoder.write(chunk).split('\n');
    begun.push(end);
    for (const next of lines) {
      yield { line: begun.join(''), isWhole: true };
      begun = [next];
    }
  }
  begun.push(decoder.end());
  const lastLine = begun.join('');
  if (lastLine !== '') yield { line: lastLine, isWhole: false };
}
