import { marksFault } from '../../service-rules/normal-form.js';
import { fieldNameFault, MAX_FIELDS } from './fields.js';
import { foldName } from './fold-name.js';

/** A multipart form that programs can read in one way only. */
export interface MultipartForm {
  /** Its bytes with the boundary written as `boundary`, so that equal forms have equal digests. */
  readonly bytes: Buffer;
  /** Folded. */
  readonly names: readonly string[];
}

const WRITTEN_BOUNDARY = 'boundary';
const LINE_END = '\r\n';
const ESCAPE = /%([0-9A-Fa-f]{2})/g;
const MAX_HEAD_LENGTH = 8 * 1024;
/** What some programs decode in a header, or join to the line before. */
const DECODED = /\\|=\?|^[ \t]|[^\t\P{Cc}]/u;
const DISPOSITION = /^content-disposition[ \t]*:/i;
const PARAMETER = /[ \t]*;[ \t]*(?:(name|filename)=(?:"([^"]*)"|([\w.-]+))|filename\*=[\w!#$%&'+.^`|~-]+)/gi;
const FORM_DATA = new RegExp(`^content-disposition:[ \\t]*form-data((?:${PARAMETER.source})*)[ \\t]*$`, 'i');
/** Some programs find a name anywhere in the headers, and read a dot or a blank at its beginning as "_". */
const METHOD_NAME = /(?<![a-z0-9])_method|["'=]\s*[. ]method/;

/**
 * Yields where others may be served. Returns what the body has to be, as the end of a sentence, if programs could divide it
 * differently.
 */
export function* parseMultipart(
  bytes: Buffer,
  boundary: string,
): Generator<undefined, MultipartForm | string, undefined> {
  // A character for each byte.
  const text = bytes.toString('latin1');
  const delimiter = `--${boundary}`;
  const written = `--${WRITTEN_BOUNDARY}`;
  yield;
  if (boundary !== WRITTEN_BOUNDARY && text.includes(written))
    return `must not contain ${JSON.stringify(written)}, which stands for its boundary in the digest`;
  yield;
  const [preamble, ...parts] = text.split(delimiter, MAX_FIELDS + 3);
  if (parts.length > MAX_FIELDS + 1) return `must have at most ${MAX_FIELDS} parts`;
  const end = parts.pop();
  if (preamble !== '' || parts.length === 0 || (end !== '--' && end !== `--${LINE_END}`))
    return 'must begin with its boundary and end with it, as RFC 2046 has it';
  const names: string[] = [];
  for (const part of parts) {
    yield;
    if (!part.startsWith(LINE_END) || !part.endsWith(LINE_END))
      return 'must have its boundary only in lines of its own, which end with a carriage return and a line feed';
    const named = readName(part.slice(LINE_END.length));
    if (typeof named === 'string') return named;
    names.push(foldName(named.name));
  }
  const rewritten = text.replaceAll(delimiter, written);
  yield;
  return { bytes: Buffer.from(rewritten, 'latin1'), names };
}

/** The name of a part, or what it has to be. */
function readName(part: string): { readonly name: string } | string {
  const length = part.indexOf(`${LINE_END}${LINE_END}`);
  if (length < 0) return 'must have headers in each part, and an empty line after them';
  if (length > MAX_HEAD_LENGTH) return `must have at most ${MAX_HEAD_LENGTH} bytes of headers in each part`;
  const head = Buffer.from(part.slice(0, length), 'latin1').toString('utf8');
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
  // An escape that is no UTF-8 must not keep another from being decoded.
  const decoded = head.replaceAll(ESCAPE, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  const marks = marksFault(decoded);
  if (marks !== undefined) return marks;
  if (METHOD_NAME.test(foldName(decoded)))
    return 'must not have a field _method, which some programs take for the method';
  return fieldNameFault(name) ?? { name };
}
