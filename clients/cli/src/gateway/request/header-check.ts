import { type ContentType, parseContentType } from './content-type.js';
import { headerAmbiguous, type RequestRefusal } from './request-refusal.js';

/** The headers of a request that are part of its action. */
export interface RequestHeaders {
  readonly contentType?: ContentType;
  /** Headers of the request that the rules list; names in lower case. */
  readonly listed: Readonly<Record<string, string>>;
  /** The values of `Content-Encoding`. */
  readonly encodings: readonly string[];
}

interface HeaderRules {
  /** Names in lower case. */
  readonly headers: readonly string[];
}

const CONTENT_TYPE = 'content-type';

/** @param rawHeaders names and values in turn, as Node.js has them */
export function checkHeaders(rawHeaders: readonly string[], { headers }: HeaderRules): RequestHeaders | RequestRefusal {
  const values = new Map<string, string[]>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    if (name.includes('_'))
      return headerAmbiguous('A header has "_" in its name, which some programs read as "-": write "-".');
    const value = rawHeaders[index + 1] ?? '';
    const existing = values.get(name);
    if (existing === undefined) values.set(name, [value]);
    else existing.push(value);
  }
  const repeated = [CONTENT_TYPE, ...headers].find((name) => (values.get(name)?.length ?? 0) > 1);
  if (repeated !== undefined) return headerAmbiguous(`The header ${repeated} is there twice: send it once.`);
  const listed = headers.flatMap((name) => {
    const [value] = values.get(name) ?? [];
    return value === undefined ? [] : [[name, value] as const];
  });
  const [text] = values.get(CONTENT_TYPE) ?? [];
  const contentType = text === undefined ? undefined : parseContentType(text);
  if (typeof contentType === 'string') return headerAmbiguous(`The header content-type ${contentType}.`);
  return {
    ...(contentType !== undefined && { contentType }),
    listed: Object.fromEntries(listed),
    encodings: values.get('content-encoding') ?? [],
  };
}
