import { canonicalJson } from './canonical-json.mjs';

const STRINGS = /"(?:[^"\\]|\\.)*"/g;
const NUMERALS = /-?\d[\d.eE+-]*/g;

/**
 * Parses JSON that every reader takes for the same value. No object has a member twice: JSON.parse takes the last of them,
 * another reader may take the first. Each number is written as ECMAScript writes it: JSON.parse rounds any other to one that
 * it is not, and takes one that is too large for Infinity, which is hashed like null.
 * @param {string} text
 * @returns {unknown}
 * @throws {SyntaxError}
 */
export function parseStrictly(text) {
  const value = /** @type {unknown} */ (JSON.parse(text));
  // Outside of strings, a colon stands behind the name of each member and nowhere else.
  const bare = text.replace(STRINGS, '');
  if (bare.split(':').length - 1 !== countMembers(value)) throw new SyntaxError('an object has a member twice');
  for (const [numeral] of bare.matchAll(NUMERALS)) {
    if (String(Number(numeral)) !== numeral) throw new SyntaxError(`${numeral} is not as ECMAScript writes a number`);
  }
  return value;
}

/**
 * Parses canonical JSON, as a database has it: other words for the same value are an alteration, too.
 * @param {unknown} text
 * @returns {unknown}
 * @throws {SyntaxError}
 */
export function parseCanonical(text) {
  const value = parseStrictly(String(text));
  if (canonicalJson(value) !== text) throw new SyntaxError('it is not canonical');
  return value;
}

/**
 * @param {unknown} value
 * @returns {number}
 */
function countMembers(value) {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  const own = Array.isArray(value) ? 0 : members.length;
  return members.reduce((count, member) => count + countMembers(member), own);
}
