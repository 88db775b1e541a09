import type { IncomingHttpHeaders } from 'node:http';

const JSON_TYPE = 'application/json';
const CHARSET = /^charset[ \t]*=[ \t]*"?([^"\s]*)"?$/i;
const UTF_8 = /^utf-?8$/i;

/** What is wrong with the declared type of a non-empty body; undefined when it is JSON in UTF-8 as it stands. */
export function mediaTypeFault(headers: IncomingHttpHeaders): string | undefined {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    return 'Send the body without a Content-Encoding.';
  }
  const type = headers['content-type'];
  return type === JSON_TYPE ? undefined : unusualTypeFault(type ?? '');
}

function unusualTypeFault(contentType: string): string | undefined {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim());
  if (type.toLowerCase() !== JSON_TYPE) {
    return 'Send the body as Content-Type: application/json.';
  }
  const charsets = parameters.flatMap((parameter) => CHARSET.exec(parameter)?.[1] ?? []);
  return charsets.every((charset) => UTF_8.test(charset)) ? undefined : 'Send the body in UTF-8.';
}
