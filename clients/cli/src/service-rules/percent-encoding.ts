import { isUtf8 } from 'node:buffer';
import { normalFormC } from './normal-form.js';

/**
 * Matches adjacent escapes, each with its `%` encoded any number of times (`%41`, `%2541`, `%252541`). After all
 * readers downstream have decoded an escape, the byte of its last two digits remains.
 */
const ESCAPES = /(?:%(?:25)*[0-9a-f]{2})+/gi;
const ESCAPE = /%((?:25)*)([0-9a-f]{2})/gi;
/** Characters with the same meaning whether encoded or not (RFC 3986, section 6.2.2.2). */
const UNRESERVED = /[0-9A-Za-z\-._~]/;
/** Escapes of a non-standard notation. */
const UNICODE_ESCAPE = /%(?:25)*u[0-9a-f]{4}/i;
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * Returns the fault of the percent-encoding of a path, encoded any number of times; undefined if there is none. A path
 * that a downstream reader takes for the same (`%73ecret%2Fa` for `secret/a`) must not look different to a policy. A
 * `%` that encodes nothing is an ordinary character.
 */
export function percentEncodingFault(path: string): string | undefined {
  if (UNICODE_ESCAPE.test(path)) return 'must not have "%u" with four digits (as "%u002e"), which some programs decode';
  for (const [escapes] of path.matchAll(ESCAPES)) {
    for (const { bytes } of encodedTexts(escapes)) {
      const fault = decodedFault(bytes);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}

/** Decodes a path fully, even if encoded several times; bytes that are not UTF-8 stay encoded. */
export function percentDecoded(path: string): string {
  return path.replace(ESCAPES, (run) =>
    Array.from(encodedTexts(run), ({ escapes, bytes }) => (isUtf8(bytes) ? bytes.toString('utf8') : escapes)).join(''),
  );
}

/**
 * Yields the texts of escapes. Only escapes that are encoded equally often are decoded in the same round, and so form
 * characters.
 */
function* encodedTexts(run: string): Generator<{ readonly escapes: string; readonly bytes: Buffer }> {
  let escapes = '';
  let digits = '';
  let depth = 0;
  for (const [escape, encodings = '', byte = ''] of run.matchAll(ESCAPE)) {
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
  // The Kelvin sign is a K in another normal form.
  return UNRESERVED.test(normalFormC(decoded))
    ? 'must have A-Z, a-z, 0-9, "-", ".", "_" and "~" as they are, not percent-encoded (as "%2E"), also not several times'
    : undefined;
}
