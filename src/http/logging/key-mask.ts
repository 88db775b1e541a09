import { BORDER, bytesOf, jsonTexts, percentDecoded, type Span, traced, type TracedText } from './traced-text';

/** Marks the end of a text that was cut. It cannot occur in the path of a request, which is ASCII. */
const CUT = '…';
/** Shorter keys would occur in ordinary words and make the lines unreadable; startup warns about them. */
const SHORTEST_MASKED_KEY = 8;
/** How many levels of percent-encoding are decoded; nobody uses more on purpose, and decoding takes long. */
const DEEPEST_ENCODING = 8;
const MASK = '[key]';
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

/** The text, or its beginning and the mark if it is too long. */
export function cutText(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest)}${CUT}` : text;
}

/**
 * Removes keys and passwords from a finished log line, whatever message or member they came from: plain or
 * percent-encoded, partly or several times, and what remains of one where a text was cut. A text encoded more than
 * eight times is removed as a whole. Issued keys and tokens are recognised by their form.
 */
export function maskKeys(keys: readonly string[]): (line: string) => string {
  const masked = keys.filter((key) => key.length >= SHORTEST_MASKED_KEY);
  const asJson = masked.map((key) => JSON.stringify(key).slice(1, -1));
  const asBytes = masked.flatMap(decodedForms);
  return (line) => {
    const readable = line.includes('%') || line.includes(CUT) ? withoutHidden(bytesOf(line), asBytes) : line;
    const withoutKeys = asJson.reduce((rest, needle) => rest.replaceAll(needle, MASK), readable);
    return ISSUED.reduce(
      (rest, form) => (rest.includes(form.sign) ? rest.replace(form.pattern, MASK) : rest),
      withoutKeys,
    );
  };
}

/** A key may itself look encoded; if part of it is encoded again, decoding affects both. */
function decodedForms(key: string): string[] {
  const forms: string[] = [];
  for (let form: TracedText | undefined = traced(bytesOf(key)); form !== undefined; form = percentDecoded(form)) {
    if (form.text.length >= SHORTEST_MASKED_KEY) forms.push(form.text);
  }
  return forms;
}

/** @param needles what is removed if it is encoded or cut. */
function withoutHidden(line: string, needles: readonly string[]): string {
  const texts = jsonTexts(line);
  const spans = cutKeys(texts, needles);
  let decoded = percentDecoded(texts);
  for (let depth = 0; decoded !== undefined; depth += 1) {
    const current = decoded;
    spans.push(...needles.flatMap((needle) => occurrences(current, needle)), ...cutKeys(current, needles));
    spans.push(...issuedIn(current));
    decoded = percentDecoded(current);
    if (depth + 1 < DEEPEST_ENCODING || decoded === undefined) continue;
    spans.push(...encodedTexts(current));
    break;
  }
  return Buffer.from(withoutSpans(line, spans), 'latin1').toString();
}

function occurrences({ text, places }: TracedText, needle: string): Span[] {
  const found: Span[] = [];
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) {
    found.push([places[at] ?? 0, places[at + needle.length] ?? 0]);
  }
  return found;
}

function issuedIn({ text, places }: TracedText): Span[] {
  const matches = ISSUED.flatMap(({ pattern }) => [...text.matchAll(pattern)]);
  return matches.map(({ 0: found, index }) => [places[index] ?? 0, places[index + found.length] ?? 0]);
}

/** The texts of the line that are still encoded. */
function encodedTexts({ text, places }: TracedText): Span[] {
  const spans: Span[] = [];
  let begin = 0;
  for (const part of text.split(BORDER)) {
    const end = begin + part.length;
    if (/%[0-9a-f]{2}/i.test(part)) spans.push([places[begin] ?? 0, places[end] ?? 0]);
    begin = end + 1;
  }
  return spans;
}

function withoutSpans(line: string, spans: readonly Span[]): string {
  let rest = '';
  let at = 0;
  for (const [begin, end] of [...spans].sort(([one], [other]) => one - other)) {
    if (begin >= at) rest += line.slice(at, begin) + MASK;
    at = Math.max(at, end);
  }
  return rest + line.slice(at);
}

/** A shorter part of a key is useless, and ordinary words may begin with it. */
const SHORTEST_BEGINNING = 4;
const CUT_BYTES = bytesOf(CUT);
const HEXADECIMAL_DIGIT = /[0-9a-f]/i;

/** Where a text was cut within a key: from the beginning of the key to the cut. */
function cutKeys({ text, places }: TracedText, keys: readonly string[]): Span[] {
  const spans: Span[] = [];
  for (let cut = text.indexOf(CUT_BYTES); cut >= 0; cut = text.indexOf(CUT_BYTES, cut + 1)) {
    const end = beforeBegunEncoding(text, cut);
    const length = Math.max(...keys.map((key) => begunLength(text, end, key)));
    if (length > 0) spans.push([places[end - length] ?? 0, places[cut] ?? 0]);
  }
  return spans;
}

/** The start of an incomplete escape before the cut: `%`, `%4`, and with encoded digits `%%4`. */
function beforeBegunEncoding(text: string, cut: number): number {
  let end = cut;
  for (;;) {
    if (text.charAt(end - 1) === '%') end -= 1;
    else if (text.charAt(end - 2) === '%' && HEXADECIMAL_DIGIT.test(text.charAt(end - 1))) end -= 2;
    else return end;
  }
}

/** How many characters before the end are a prefix of the key. */
function begunLength(text: string, end: number, key: string): number {
  for (let length = Math.min(key.length, end); length >= SHORTEST_BEGINNING; length -= 1) {
    if (text.startsWith(key.slice(0, length), end - length)) return length;
  }
  return 0;
}
