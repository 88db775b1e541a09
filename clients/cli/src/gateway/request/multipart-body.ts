import { marksFault } from '../../service-rules/normal-form.js';
import { STEP_BYTES } from './body-hash.js';
import { fieldNameFault, MAX_FIELDS } from './fields.js';
import { foldName } from './fold-name.js';

/** A multipart form that programs can read in one way only. */
export interface MultipartForm {
  /** Its bytes in pieces, with the boundary written as `boundary`, so that equal forms have equal digests. */
  readonly bytes: readonly Buffer[];
  /** Folded. */
  readonly names: readonly string[];
}

const WRITTEN_BOUNDARY = 'boundary';
const LINE_END = '\r\n';
const HEAD_END = LINE_END + LINE_END;
/** Maximum length of the text after the last boundary. */
const MAX_END_LENGTH = 4;
const ESCAPE = /%([0-9A-Fa-f]{2})/g;
const MAX_HEAD_LENGTH = 8 * 1024;
/** Text in a header that some programs decode, or join to the line before. */
const DECODED = /\\|=\?|^[ \t]|[^\t\P{Cc}]/u;
const DISPOSITION = /^content-disposition[ \t]*:/i;
const PARAMETER = /[ \t]*;[ \t]*(?:(name|filename)=(?:"([^"]*)"|([\w.-]+))|filename\*=[\w!#$%&'+.^`|~-]+)/gi;
const FORM_DATA = new RegExp(`^content-disposition:[ \\t]*form-data((?:${PARAMETER.source})*)[ \\t]*$`, 'i');
/** Some programs find a name anywhere in the headers, and read a dot or a blank at its beginning as "_". */
const METHOD_NAME = /(?<![a-z0-9])_method|["'=]\s*[. ]method/;

/**
 * Yields where others may be served. Returns what the body has to be, as the end of a sentence, if programs could
 * divide it differently.
 */
export function* parseMultipart(
  bytes: Buffer,
  boundary: string,
): Generator<undefined, MultipartForm | string, undefined> {
  const delimiter = Buffer.from(`--${boundary}`);
  const written = Buffer.from(`--${WRITTEN_BOUNDARY}`);
  if (boundary !== WRITTEN_BOUNDARY && (yield* findBytes(bytes, written, 0)) >= 0)
    return `must not contain ${JSON.stringify(written.toString())}, which stands for its boundary in the digest`;
  const pieces = yield* splitBytes(bytes, delimiter, MAX_FIELDS + 3);
  const [preamble, ...parts] = pieces;
  if (parts.length > MAX_FIELDS + 1) return `must have at most ${MAX_FIELDS} parts`;
  const end = parts
    .pop()
    ?.subarray(0, MAX_END_LENGTH + 1)
    .toString('latin1');
  if (preamble?.length !== 0 || parts.length === 0 || (end !== '--' && end !== `--${LINE_END}`))
    return 'must begin with its boundary and end with it, as RFC 2046 has it';
  const names: string[] = [];
  for (const part of parts) {
    yield;
    if (!isBetweenLineEnds(part))
      return 'must have its boundary only in lines of its own, which end with a carriage return and a line feed';
    const named = readName(part.subarray(LINE_END.length));
    if (typeof named === 'string') return named;
    names.push(foldName(named.name));
  }
  return { bytes: pieces.flatMap((piece, index) => (index === 0 ? [piece] : [written, piece])), names };
}

/** Splits bytes at the delimiters, into at most a number of pieces. Yields where others may be served. */
function* splitBytes(
  bytes: Buffer,
  delimiter: Buffer,
  maxPieces: number,
): Generator<undefined, readonly Buffer[], undefined> {
  const pieces: Buffer[] = [];
  let start = 0;
  while (pieces.length < maxPieces) {
    const end = yield* findBytes(bytes, delimiter, start);
    if (end < 0) return [...pieces, bytes.subarray(start)];
    pieces.push(bytes.subarray(start, end));
    yield;
    start = end + delimiter.length;
  }
  return pieces;
}

/** The first place of a text from `start` on; -1 if it is not there. Yields where others may be served. */
function* findBytes(bytes: Buffer, text: Buffer, start: number): Generator<undefined, number, undefined> {
  for (let from = start; from < bytes.length; from += STEP_BYTES) {
    const place = bytes.subarray(from, from + STEP_BYTES + text.length - 1).indexOf(text);
    if (place >= 0) return from + place;
    yield;
  }
  return -1;
}

function isBetweenLineEnds(part: Buffer): boolean {
  const [start, end] = [part.subarray(0, LINE_END.length), part.subarray(-LINE_END.length)];
  return [start, end].every((edge) => edge.toString('latin1') === LINE_END);
}

/** The name of a part, or what it has to be. */
function readName(part: Buffer): { readonly name: string } | string {
  const length = part.subarray(0, MAX_HEAD_LENGTH + HEAD_END.length).indexOf(HEAD_END);
  if (length < 0)
    return `must have headers in each part, of at most ${MAX_HEAD_LENGTH} bytes, and an empty line after them`;
  const head = part.toString('utf8', 0, length);
  const lines = head.split(LINE_END);
  if (lines.some((line) => DECODED.test(line)))
    return 'must not have a backslash, an encoded word, a continued line or a control character in the headers of a part';
  const [disposition = '', ...others] = lines.filter((line) => DISPOSITION.test(line));
  const [, list] = FORM_DATA.exec(disposition) ?? [];
  const names = [...(list ?? '').matchAll(PARAMETER)].filter(([, kind]) => kind?.toLowerCase() === 'name');
  const [[, , quoted, token = ''] = []] = names;
  const name = quoted ?? token;
  if (others.length > 0 || names.length !== 1 || name === '')
    return 'must have one Content-Disposition in each part: form-data; name="…", and filename="…" for a file';
  const decoded = unescape(head);
  const marks = marksFault(decoded);
  if (marks !== undefined) return marks;
  if (METHOD_NAME.test(foldName(decoded)))
    return 'must not have a field _method, which some programs take for the method';
  return fieldNameFault(name) ?? fieldNameFault(unescape(name)) ?? { name };
}

/**
 * The text without percent-encoding, byte by byte: an escape that is no UTF-8 must not keep another from being decoded.
 */
function unescape(text: string): string {
  return text.replaceAll(ESCAPE, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
