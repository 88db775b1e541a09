import { cutKeys } from './cut-keys';
import { CUT } from './cut-text';
import { BORDER, bytesOf, jsonTexts, percentDecoded, type Span, traced, type TracedText } from './traced-text';

/** Shorter keys would occur in ordinary words and make the lines unreadable; the start warns of them. */
const SHORTEST_MASKED_KEY = 8;
/** How often something may be percent-encoded; nobody means what is encoded more often, and to decode it takes long. */
const DEEPEST_ENCODING = 8;
const MASK = '[key]';

/**
 * Takes keys and passwords out of a finished log line, whatever message or member brought them there, as they are and
 * percent-encoded, in part or several times, and what is left of one where a text was cut. A text encoded more than eight
 * times is taken out whole.
 */
export function maskKeys(keys: readonly string[]): (line: string) => string {
  const masked = keys.filter((key) => key.length >= SHORTEST_MASKED_KEY);
  const asJson = masked.map((key) => JSON.stringify(key).slice(1, -1));
  const asBytes = masked.flatMap(decodedForms);
  return (line) => {
    const readable = line.includes('%') || line.includes(CUT) ? withoutHidden(bytesOf(line), asBytes) : line;
    return asJson.reduce((rest, needle) => rest.replaceAll(needle, MASK), readable);
  };
}

/** A key may look encoded itself; who finds it in part encoded then decodes both. */
function decodedForms(key: string): string[] {
  const forms: string[] = [];
  for (let form: TracedText | undefined = traced(bytesOf(key)); form !== undefined; form = percentDecoded(form)) {
    if (form.text.length >= SHORTEST_MASKED_KEY) forms.push(form.text);
  }
  return forms;
}

/** @param needles what is taken out where it is encoded or cut. */
function withoutHidden(line: string, needles: readonly string[]): string {
  const texts = jsonTexts(line);
  const spans = cutKeys(texts, needles);
  let decoded = percentDecoded(texts);
  for (let depth = 0; decoded !== undefined; depth += 1) {
    const current = decoded;
    spans.push(...needles.flatMap((needle) => occurrences(current, needle)), ...cutKeys(current, needles));
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

/** The texts of the line in which something is still encoded. */
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
