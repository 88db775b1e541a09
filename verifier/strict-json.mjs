import { canonicalJson } from './canonical-json.mjs';

const NUMERALS = /-?\d[\d.eE+-]*/g;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Maximum nesting. The service accepts bodies of 32 levels, and writes them a few levels deeper. */
const MAX_LEVELS = 100;

/**
 * Parses JSON that every reader understands as the same value. No object has a member twice: JSON.parse takes the last
 * of them, another reader may take the first. Each number is written as ECMAScript writes it: JSON.parse rounds any
 * other, and turns one that is too large into Infinity, which is hashed like null.
 * @param {string} text
 * @returns {unknown}
 * @throws {SyntaxError}
 */
export function parseStrictly(text) {
  const value = /** @type {unknown} */ (JSON.parse(text));
  // Outside strings, a colon follows the name of each member and occurs nowhere else.
  const bare = withoutStrings(text);
  if (levelsOf(bare) > MAX_LEVELS) throw new SyntaxError(`it is deeper than ${MAX_LEVELS} levels`);
  if (bare.split(':').length - 1 !== countMembers(value)) throw new SyntaxError('an object has a member twice');
  for (const [numeral] of bare.matchAll(NUMERALS)) {
    if (String(Number(numeral)) !== numeral) throw new SyntaxError(`${numeral} is not as ECMAScript writes a number`);
  }
  return value;
}

/**
 * Parses canonical JSON, as stored in a database: any other spelling of the same value is an alteration, too.
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
 * Removes the strings from JSON. A regular expression would overflow its stack in a string of some megabytes.
 * @param {string} text valid JSON
 */
function withoutStrings(text) {
  const parts = [];
  let begin = 0;
  for (let quote = text.indexOf('"'); quote !== -1; quote = text.indexOf('"', begin)) {
    parts.push(text.slice(begin, quote));
    begin = endOfString(text, quote);
  }
  return parts.join('') + text.slice(begin);
}

/**
 * @param {string} text valid JSON
 * @param {number} quote where the string begins
 */
function endOfString(text, quote) {
  let index = quote + 1;
  for (let code = text.charCodeAt(index); code !== QUOTE; code = text.charCodeAt(index)) {
    index += code === BACKSLASH ? 2 : 1;
  }
  return index + 1;
}

/** @param {string} bare JSON without its strings */
function levelsOf(bare) {
  let [levels, most] = [0, 0];
  for (const [bracket] of bare.matchAll(/[[\]{}]/g)) {
    levels += bracket === '[' || bracket === '{' ? 1 : -1;
    most = Math.max(most, levels);
  }
  return most;
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
