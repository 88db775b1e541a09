/**
 * Shorter keys are not masked: they would occur in ordinary words and make the lines unreadable. Startup warns about
 * them.
 */
const MIN_MASKED_KEY_CHARACTERS = 8;
/** Levels of percent-encoding that are decoded: a client's and a proxy's. */
const MAX_ENCODING = 2;
const MASK = '[key]';
const JSON_TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"/g;
const ENCODED_BYTE = /%[0-9a-f]{2}/gi;
/** Forms of issued keys and of tokens, which cannot be listed. */
const ISSUED: readonly IssuedForm[] = [
  { sign: 'agk_', pattern: /agk_[0-9A-Z]{26}_[\w-]+/gi },
  // Another member's quote, a space or a line end may precede a header. The length excludes names of hosts and files.
  { sign: '.', pattern: /(?:(?<![\w-]|(?<!\\)\\(?=[bfnrt]))|(?<=\\[bfnrt]))[\w-]{16,}\.[\w-]{16,}\.[\w-]{32,}/g },
  { sign: 'eyJ', pattern: /(?:(?<![\w-])|(?<=\\[bfnrt]))eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g },
];

interface IssuedForm {
  /** Fixed text without which the pattern cannot match. */
  readonly sign: string;
  readonly pattern: RegExp;
}

/**
 * Returns a function that removes keys and passwords from a finished log line, from any message or member. A text with
 * a key in partly or twice percent-encoded form, and a text that is encoded more than twice, is removed as a whole.
 * Issued keys and tokens are recognised by their form.
 */
export function maskKeys(keys: readonly string[]): (line: string) => string {
  const masked = keys.filter((key) => key.length >= MIN_MASKED_KEY_CHARACTERS);
  const asJson = masked.map((key) => JSON.stringify(key).slice(1, -1));
  const asBytes = masked.flatMap(decodedForms);
  return (line) => {
    const readable = line.includes('%')
      ? line.replace(JSON_TEXT, (text) => (hidesKey(JSON.parse(text) as string, asBytes) ? `"${MASK}"` : text))
      : line;
    return withoutIssued(asJson.reduce((rest, needle) => rest.replaceAll(needle, MASK), readable));
  };
}

function withoutIssued(text: string): string {
  return ISSUED.reduce((rest, { sign, pattern }) => (rest.includes(sign) ? rest.replace(pattern, MASK) : rest), text);
}

/**
 * Returns all decoded forms of a key. A key may itself look encoded; if part of it is encoded again, decoding affects
 * both.
 */
function decodedForms(key: string): string[] {
  const forms: string[] = [];
  for (let form: string | null = bytesOf(key); form !== null; form = decodedOnce(form))
    if (form.length >= MIN_MASKED_KEY_CHARACTERS) forms.push(form);
  return forms;
}

/** True if a text has one of the keys in percent-encoded form. */
function hidesKey(text: string, keys: readonly string[]): boolean {
  let bytes = bytesOf(text);
  for (let depth = 0; depth <= MAX_ENCODING; depth += 1) {
    const decoded = decodedOnce(bytes);
    if (decoded === null) return false;
    if (keys.some((key) => decoded.includes(key)) || withoutIssued(decoded) !== decoded) return true;
    bytes = decoded;
  }
  return true;
}

/** The UTF-8 bytes of a text, one character each. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Decodes one level; null if nothing is percent-encoded. */
function decodedOnce(bytes: string): string | null {
  if (bytes.search(ENCODED_BYTE) < 0) return null;
  return bytes.replace(ENCODED_BYTE, (byte) => String.fromCharCode(parseInt(byte.slice(1), 16)));
}
