import { isUtf8 } from 'node:buffer';
import { normalFormC } from './normal-form.js';
import { rememberReadings } from './remembered-readings.js';

/**
 * Matches adjacent escapes. The `%` of each may itself be encoded any number of times: `%41`, `%2541` and `%252541`
 * all result in the byte 41 if they are decoded until nothing is left to decode.
 */
const ESCAPES = /(?:%(?:25)*[0-9a-f]{2})+/gi;
const ESCAPE = /%((?:25)*)([0-9a-f]{2})/gi;
/** Characters with the same meaning whether encoded or not (RFC 3986, section 6.2.2.2). */
const UNRESERVED = /[0-9A-Za-z\-._~]/;
/** Matches an escape in a non-standard notation, such as `%u002e`. */
const UNICODE_ESCAPE = /%(?:25)*u[0-9a-f]{4}/i;
/**
 * Most characters of adjacent escapes that are remembered once they are decoded, because a path may repeat them a
 * hundred times. V8 would keep the whole path of a longer match in memory.
 */
const MAX_REMEMBERED_CHARACTERS = 12;
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * Returns the fault of a path's percent-encoding; undefined if there is no fault. Another program may decode the path
 * once or several times. A path that it then reads as `secret/a`, such as `%73ecret%2Fa`, must not look different to a
 * policy. A `%` that begins no escape is an ordinary character.
 */
export function percentEncodingFault(path: string): string | undefined {
  if (UNICODE_ESCAPE.test(path)) return 'must not have "%u" with four digits (as "%u002e"), which some programs decode';
  for (const [adjacent] of path.matchAll(ESCAPES)) {
    const { fault } = readEscapes(adjacent);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Decodes a path fully, even if encoded several times; bytes that are not UTF-8 stay encoded. */
export function decodePercent(path: string): string {
  return path.replace(ESCAPES, (adjacent) => readEscapes(adjacent).text);
}

/** Adjacent escapes once they are decoded, and their fault. */
interface DecodedEscapes {
  readonly text: string;
  readonly fault: string | undefined;
}

function readEscapes(adjacent: string): DecodedEscapes {
  return adjacent.length > MAX_REMEMBERED_CHARACTERS ? decodeEscapes(adjacent) : rememberEscapes(adjacent);
}

const rememberEscapes = rememberReadings(decodeEscapes);

function decodeEscapes(adjacent: string): DecodedEscapes {
  const runs = [...runsOfEqualDepth(adjacent)];
  return {
    text: runs.map(({ escapes, bytes }) => (isUtf8(bytes) ? bytes.toString('utf8') : escapes)).join(''),
    fault: runs.map(({ bytes }) => decodedFault(bytes)).find((fault) => fault !== undefined),
  };
}

/**
 * Splits adjacent escapes into runs that are encoded equally often. Only the escapes of one run are decoded in the same
 * round, so only these can form a character together.
 */
function* runsOfEqualDepth(adjacent: string): Generator<{ readonly escapes: string; readonly bytes: Buffer }> {
  let escapes = '';
  let digits = '';
  let depth = 0;
  for (const [escape, encodings = '', byte = ''] of adjacent.matchAll(ESCAPE)) {
    if (encodings.length !== depth && escapes !== '') {
      yield { escapes, bytes: Buffer.from(digits, 'hex') };
      escapes = '';
      digits = '';
    }
    depth = encodings.length;
    escapes += escape;
    digits += byte;
  }
  yield { escapes, bytes: Buffer.from(digits, 'hex') };
}

function decodedFault(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return 'must not percent-encode what is not UTF-8 (as in "%C0%AF"), also not several times';
  const decoded = bytes.toString('utf8');
  if (CONTROL_CHARACTER.test(decoded)) return 'must not contain control characters, also not percent-encoded';
  if (/[/\\]/.test(decoded)) return 'must not percent-encode "/" or "\\" (as "%2F" or "%5C"), also not several times';
  // Normal form C turns some characters into unreserved characters: the Kelvin sign becomes K.
  return UNRESERVED.test(normalFormC(decoded))
    ? 'must have A-Z, a-z, 0-9, "-", ".", "_" and "~" as they are, not percent-encoded (as "%2E"), also not several times'
    : undefined;
}
