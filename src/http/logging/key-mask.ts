/** Shorter keys would occur in ordinary words and make the lines unreadable; startup warns about them. */
const MIN_MASKED_KEY_CHARACTERS = 8;
/** Levels of percent-encoding that are decoded: a proxy adds one to the client's. */
const MAX_ENCODING = 2;
const MASK = '[key]';
const JSON_TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"/g;
const ENCODED_BYTE = /%[0-9a-f]{2}/gi;
/** The forms of keys that the service issues, after their public part, and of tokens: these cannot be listed. */
const ISSUED: readonly IssuedForm[] = [
  { sign: 'agk_', pattern: /agk_[0-9A-Z]{26}_[\w-]+/gi },
  // A header may begin with another member's quote, a space or a line end: too long for a host's or a file's name.
  { sign: '.', pattern: /(?:(?<![\w-]|(?<!\\)\\(?=[bfnrt]))|(?<=\\[bfnrt]))[\w-]{16,}\.[\w-]{16,}\.[\w-]{32,}/g },
  { sign: 'eyJ', pattern: /(?:(?<![\w-])|(?<=\\[bfnrt]))eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g },
];

interface IssuedForm {
  /** A fixed text without which the pattern cannot match. */
  readonly sign: string;
  readonly pattern: RegExp;
}

/**
 * Removes keys and passwords from a finished log line, whatever message or member they came from. A text in which one is
 * percent-encoded, partly or twice, is removed as a whole, and so is one that is encoded more than twice. Issued keys and tokens are recognised by their form.
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

/** A key may itself look encoded; if part of it is encoded again, decoding affects both. */
function decodedForms(key: string): string[] {
  const forms: string[] = [];
  for (let form: string | null = bytesOf(key); form !== null; form = decodedOnce(form))
    if (form.length >= MIN_MASKED_KEY_CHARACTERS) forms.push(form);
  return forms;
}

/** Whether a text has one of the keys in percent-encoded form. */
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

/** Null when nothing in it is percent-encoded. */
function decodedOnce(bytes: string): string | null {
  if (bytes.search(ENCODED_BYTE) < 0) return null;
  return bytes.replace(ENCODED_BYTE, (byte) => String.fromCharCode(parseInt(byte.slice(1), 16)));
}
