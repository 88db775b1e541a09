import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { isObject } from './entry-check.mjs';
import { parseStrictly } from './strict-json.mjs';

/**
 * Feeds a chain with an export: a line of JSON for each entry, and one for its end. A file of several parts, made with
 * `after`, has an end for each.
 * @param {string} path `-` for standard input
 * @param {import('./chain.mjs').Chain} chain
 * @returns {Promise<boolean>} whether its last line is its end
 */
export async function readExport(path, chain) {
  let isEnded = false;
  for await (const { line, isWhole } of lines(path === '-' ? process.stdin : createReadStream(path))) {
    isEnded = false;
    try {
      const read = parseStrictly(line);
      if (isEnd(read)) {
        chain.end(read);
        isEnded = true;
      } else {
        chain.add(read);
      }
    } catch (error) {
      // Any other error is the verifier's own, and says nothing of the data.
      if (!(error instanceof SyntaxError)) throw error;
      chain.addUnreadable(`a line is no JSON: ${error.message}`);
    }
    if (!isWhole) chain.addUnreadable('the last line has no line break: the file was cut');
  }
  return isEnded;
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
  /** Of a line that is not over; joined once, as it may be long. @type {string[]} */
  let begun = [];
  for await (const chunk of chunks) {
    const [end = '', ...others] = decoder.write(chunk).split('\n');
    begun.push(end);
    for (const next of others) {
      yield { line: begun.join(''), isWhole: true };
      begun = [next];
    }
  }
  begun.push(decoder.end());
  const rest = begun.join('');
  if (rest !== '') yield { line: rest, isWhole: false };
}
