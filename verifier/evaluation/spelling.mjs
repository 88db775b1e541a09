import { hasManyMarks, normalFormC, normalFormKc } from './normal-form.mjs';

/**
 * The spellings of a path or a URL: docs/policies.md, Spelling. A spelling that another program could read as
 * another path says nothing about what it names.
 */

const URL_START = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//u;
/** Readers of URLs take these for the beginning of one, also without slashes. */
const SCHEME_ALONE = /^(?:[hH][tT]{2}[pP][sS]?|[wW][sS]{1,2}|[fF][tT][pP]|[fF][iI][lL][eE]):/u;
const ENCODED = /(?:%[0-9A-Fa-f]{2})+/gu;
/** Matches an encoded byte whose `%` may itself be encoded, any number of times. */
const NESTED = /%((?:25)*)[0-9A-Fa-f]{2}/gu;
const ENCODED_PERCENT = '25';
const OLD_ENCODED = /%u[0-9A-Fa-f]{4}/iu;
const UNSEEN = /[\p{Cc}\p{Cf}]/u;
/**
 * Characters that have one spelling only, which is the bare one, in normal form C: so the Kelvin sign counts as a K.
 */
const UNRESERVED = /[A-Za-z0-9\-._~]/u;
const CUTS_PATH = /[?#;]/u;
const MAX_SEGMENTS = 64;
/** The most characters that are decoded for one text: those of 4,096, which can be encoded 2,048 times. */
const MAX_DECODED = 4_096 * 2_048;
/** Matches characters of which no host in the canonical form of a URL consists. */
const NOT_IN_HOST = /[^a-z0-9\-_~!$&'()+,=.:[\]]/u;

/** @param {string} text */
export function isUrl(text) {
  return URL_START.test(text);
}

/**
 * Removes percent-encoding, also if it is encoded several times, and composes the text to Unicode normal form C.
 * @param {string} text
 */
export function plainForm(text) {
  let [plain, before] = [normalFormC(text), ''];
  for (let times = 0; plain !== before && times <= mostTimes(text); times += 1)
    [plain, before] = [normalFormC(decodedOnce(plain)), plain];
  return plain;
}

/**
 * Returns how often a text is decoded: as often as it can be encoded, unless it is longer than any text that is
 * compared.
 * @param {string} text
 */
function mostTimes({ length }) {
  return Math.floor(MAX_DECODED / Math.max(length, 1));
}

/**
 * Decodes a text once. Where every encoded byte is encoded several times, decoding only takes a `25` from each, and is
 * done as often as all of them have one: otherwise a nested text would take time that grows with the square of its
 * length.
 * @param {string} text
 */
function decodedOnce(text) {
  const levels = fewestLevels(text);
  if (levels > 0) return text.replaceAll(`%${ENCODED_PERCENT.repeat(levels)}`, '%');
  return text.replace(ENCODED, (run) => decodedRun(run) ?? run);
}

/**
 * Returns how often the `%` of every encoded byte is itself encoded, at least; 0 if there is none.
 * @param {string} text
 */
function fewestLevels(text) {
  let fewest = Infinity;
  for (const [, levels = ''] of text.matchAll(NESTED)) {
    fewest = Math.min(fewest, levels.length / ENCODED_PERCENT.length);
    if (fewest === 0) return 0;
  }
  return fewest === Infinity ? 0 : fewest;
}

/**
 * @param {string} run of percent-encoded bytes
 * @returns {string | undefined} undefined where they are not UTF-8 in its only form
 */
function decodedRun(run) {
  try {
    return decodeURIComponent(run);
  } catch {
    return undefined;
  }
}

/**
 * True if a text can be read as one path or URL only.
 * @param {string} text a `resourceId`
 */
export function isUnmistakable(text) {
  if (hasManyMarks(text)) return false;
  const normalized = normalFormC(text);
  if (isUrl(normalized)) return isCanonicalUrl(normalized);
  return isPath(normalized.startsWith('/') ? normalized.slice(1) : normalized);
}

/** @param {string} text */
function isCanonicalUrl(text) {
  const [, scheme = '', authority = '', path] = /^([^:]+):\/\/([^/]*)(?:\/(.*))?$/su.exec(text) ?? [];
  if (path === undefined || path === '' || scheme !== scheme.toLowerCase()) return false;
  if (authority === '') return scheme === 'file' && isPath(path, true);
  return isCanonicalAuthority(scheme, authority) && isPath(path, true);
}

/**
 * @param {string} scheme
 * @param {string} authority
 */
function isCanonicalAuthority(scheme, authority) {
  if (NOT_IN_HOST.test(authority)) return false;
  try {
    const { host, hostname } = new URL(`${scheme}://${authority}/`);
    return host === authority && !hostname.split('.').includes('');
  } catch {
    return false;
  }
}

/**
 * @param {string} path without the slash before it
 * @param {boolean} [isOfUrl]
 */
function isPath(path, isOfUrl = false) {
  const hasSlash = isOfUrl || path.includes('/');
  /** @type {string | undefined} */
  let before;
  let times = 0;
  // What is decoded may compose to other characters: the Greek question mark is a semicolon.
  for (let form = path; form !== before; [before, form] = [form, normalFormC(decodedOnce(form))]) {
    times += 1;
    if (times > mostTimes(path) || !isSoundForm(form, hasSlash, isOfUrl) || !encodesSoundly(form)) return false;
  }
  const segments = path.split('/');
  return segments.length - Number(segments.at(-1) === '*') <= MAX_SEGMENTS;
}

/**
 * @param {string} form a path, decoded some times
 * @param {boolean} hasSlash whether it is a path rather than a name
 * @param {boolean} isOfUrl
 */
function isSoundForm(form, hasSlash, isOfUrl) {
  if (form.includes('\\') || UNSEEN.test(form) || OLD_ENCODED.test(form) || hasManyMarks(form)) return false;
  if (hasSlash && CUTS_PATH.test(form)) return false;
  if (hasSlash && !isOfUrl && SCHEME_ALONE.test(form)) return false;
  return form.split('/').every(isSegment);
}

/** @param {string} segment */
function isSegment(segment) {
  const compatible = normalFormKc(segment);
  return (
    segment !== '' && segment === segment.trim() && !['.', '..'].includes(compatible) && !/[/\\]/u.test(compatible)
  );
}

/** @param {string} form */
function encodesSoundly(form) {
  return [...form.matchAll(ENCODED)].every(([run]) => {
    const decoded = decodedRun(run);
    return decoded !== undefined && !UNRESERVED.test(normalFormC(decoded)) && !/[/\\]/u.test(decoded);
  });
}
