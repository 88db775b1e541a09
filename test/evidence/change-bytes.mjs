/**
 * Changes bytes of a decision file, one at a time, and prints how many changes the offline verifier did not find.
 *
 * Usage: node change-bytes.mjs <file> <public key> all|<how many> <seed>
 */
import { readFileSync } from 'node:fs';
import { parseVerifierKey } from '../../verifier/checkpoint.mjs';
import { checkDecisionFile } from '../../verifier/decision/check.mjs';
import { UnreadableFile } from '../../verifier/decision/read-file.mjs';

const [path = '', publicKey = '', count, seed] = process.argv.slice(2);
const keys = [parseVerifierKey(publicKey)];
const original = readFileSync(path);

/** @param {Uint8Array} bytes @returns {Promise<string>} */
async function verdictOn(bytes) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return (await checkDecisionFile(text, keys)).recomputed ? 'recomputed' : 'found';
  } catch (error) {
    // Bytes that are not UTF-8 are refused before.
    if (error instanceof UnreadableFile || (error instanceof TypeError && error.message.includes('encoded data')))
      return 'found';
    return String(error instanceof Error ? error.stack : error);
  }
}

let state = Number(seed);
/** @param {number} most */
function below(most) {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  return Math.floor((state / 2 ** 32) * most);
}

/** Another byte; often one that keeps the text one of letters and digits. @param {number} byte */
function another(byte) {
  const isPlain = /[0-9a-zA-Z]/u.test(String.fromCharCode(byte));
  const other = isPlain && below(4) > 0 ? (byte % 2 === 0 ? byte + 1 : byte - 1) : below(256);
  return other === byte ? byte ^ 1 : other;
}

const places =
  count === 'all' ? [...original.keys()] : Array.from({ length: Number(count) }, () => below(original.length));
/** @type {unknown[]} */
const unfound = [];
if ((await verdictOn(original)) !== 'recomputed') unfound.push('the file itself does not recompute');
for (const place of places) {
  const changed = Uint8Array.from(original);
  changed[place] = another(Number(original[place]));
  const verdict = await verdictOn(changed);
  if (verdict !== 'found')
    unfound.push({ place, around: original.subarray(place - 20, place + 20).toString(), verdict });
}
process.stdout.write(JSON.stringify({ changes: places.length, unfound: unfound.slice(0, 5) }));
