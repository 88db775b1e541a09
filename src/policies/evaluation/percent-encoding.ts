import { isUtf8 } from 'node:buffer';

/**
 * Escapes side by side, each with its `%` encoded as often as not at all, once, twice … (`%41`, `%2541`, `%252541`): what
 * is left of it once everyone after us has decoded it is the byte of its last two digits.
 */
const ESCAPES = /(?:%(?:25)*[0-9a-f]{2})+/gi;
const ESCAPE = /%((?:25)*)([0-9a-f]{2})/gi;
/** Encoded or bare, these mean the same (RFC 3986, section 6.2.2.2). */
const UNRESERVED = /[0-9A-Za-z\-._~]/;
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * Says what is wrong with the percent-encoding in a path, however often it is encoded, or undefined when nothing is. What a
 * later reader takes for the same path (`%73ecret%2Fa` for `secret/a`) must not look like another one to a policy. A `%` that
 * encodes nothing is a character like any other.
 */
export function percentEncodingFault(path: string): string | undefined {
  for (const [escapes] of path.matchAll(ESCAPES)) {
    for (const bytes of decodedTogether(escapes)) {
      const fault = decodedFault(bytes);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

/** The bytes of escapes. Only those that are encoded equally often are decoded in one go, and so make up characters. */
function* decodedTogether(escapes: string): Generator<Buffer> {
  let digits = '';
  let depth = 0;
  for (const [, encodings = '', byte = ''] of escapes.matchAll(ESCAPE)) {
    if (encodings.length !== depth) {
      yield Buffer.from(digits, 'hex');
      digits = '';
    }
    depth = encodings.length;
    digits += byte;
  }
  yield Buffer.from(digits, 'hex');
}

function decodedFault(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return 'must not percent-encode what is not UTF-8 (as in "%C0%AF"), also not several times';
  const decoded = bytes.toString('utf8');
  if (CONTROL_CHARACTER.test(decoded)) return 'must not contain control characters, also not percent-encoded';
  if (decoded.includes('/')) return 'must not percent-encode "/" (as "%2F"), also not several times';
  return UNRESERVED.test(decoded)
    ? 'must have A-Z, a-z, 0-9, "-", ".", "_" and "~" as they are, not percent-encoded (as "%2E"), also not several times'
    : undefined;
}
