import { foldName } from './fold-name.js';
import { percentDecode } from './percent-decode.js';

const WRITTEN_BOUNDARY = 'boundary';
const LINE_END = '\r\n';
/** The name of a field in several pieces or in another encoding; that of a file may be. */
const DIVIDED_NAME = /(?:^|[;\s])name\*/i;
/** Some programs read a dot or a blank at the beginning of a name as "_". */
const METHOD_NAME = /_method|["=]\s*[. ]method/;

/**
 * The bytes of a multipart form with its boundary written as `boundary`, so that equal forms have equal digests.
 * @returns what the body has to be, as the end of a sentence, if programs could divide it differently
 */
export function canonicalMultipart(bytes: Buffer, boundary: string): Buffer | string {
  // A character for each byte.
  const text = bytes.toString('latin1');
  const delimiter = `--${boundary}`;
  const written = `--${WRITTEN_BOUNDARY}`;
  if (boundary !== WRITTEN_BOUNDARY && text.includes(written))
    return `must not contain ${JSON.stringify(written)}, which stands for its boundary in the digest`;
  const [preamble, ...parts] = text.split(delimiter);
  const end = parts.pop();
  if (preamble !== '' || parts.length === 0 || (end !== '--' && end !== `--${LINE_END}`))
    return 'must begin with its boundary and end with it, as RFC 2046 has it';
  for (const part of parts) {
    if (!part.startsWith(LINE_END) || !part.endsWith(LINE_END))
      return 'must have its boundary only in lines of its own, which end with a carriage return and a line feed';
    const fault = partFault(part.slice(LINE_END.length));
    if (fault !== undefined) return fault;
  }
  return Buffer.from(text.replaceAll(delimiter, written), 'latin1');
}

function partFault(part: string): string | undefined {
  const length = part.startsWith(LINE_END) ? 0 : part.indexOf(`${LINE_END}${LINE_END}`);
  if (length < 0) return 'must have an empty line after the headers of each part';
  const head = Buffer.from(part.slice(0, length), 'latin1').toString('utf8');
  const names = foldName(percentDecode(head) ?? head);
  if (METHOD_NAME.test(names) || DIVIDED_NAME.test(head))
    return 'must not have a field _method, nor a name in several pieces, which some programs take for the method';
  return undefined;
}
