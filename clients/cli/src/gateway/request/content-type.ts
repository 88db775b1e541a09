/** The header `Content-Type`. Its only possible parameters are those that decide how a body is read. */
export interface ContentType {
  /** The media type in lower case, without parameters. */
  readonly type: string;
  /** Its charset in lower case. */
  readonly charset?: string;
  /** The boundary of a multipart body, as it was sent. */
  readonly boundary?: string;
}

const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";
const WHOLE = new RegExp(
  `^(${TOKEN}/${TOKEN})((?:[ \\t]*;[ \\t]*${TOKEN}=(?:${TOKEN}|"[^"\\\\]*"))*)[ \\t]*(?:;[ \\t]*)?$`,
);
const PARAMETER = new RegExp(`;[ \\t]*(${TOKEN})=(?:"([^"\\\\]*)"|(${TOKEN}))`, 'g');
const CHARSET = /^[\w.:-]{1,40}$/;
/** A boundary by RFC 2046, without blanks. */
const BOUNDARY = /^[\w'()+,./:=?-]{1,70}$/;
const DOUBTFUL = /json|javascript|ecmascript|url-?encoded|^multipart\//;
const MULTIPART_FORM = 'multipart/form-data';

/** @returns what the header has to be, as the end of a sentence, if it cannot be read in one way only */
export function parseContentType(text: string): ContentType | string {
  const [, type = '', list = ''] = WHOLE.exec(text) ?? [];
  if (type === '') return 'must be a type with parameters, for example "application/json; charset=utf-8"';
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, plain = ''] of list.matchAll(PARAMETER)) {
    const key = name.toLowerCase();
    if (parameters.has(key)) return `must have the parameter ${key} once`;
    parameters.set(key, quoted ?? plain);
  }
  return withParameters(type.toLowerCase(), parameters);
}

/** True for a body that is read as JSON. */
export function isJsonType({ type }: ContentType): boolean {
  return type === 'application/json' || type.endsWith('+json');
}

/** True for a body of fields as HTML forms send them. */
export function isFormType({ type }: ContentType): boolean {
  return type === 'application/x-www-form-urlencoded';
}

export function isMultipartForm({ type }: ContentType): boolean {
  return type === MULTIPART_FORM;
}

/** True for a type that some programs read as JSON or as a form, although it is neither by its name. */
export function isDoubtfulType(contentType: ContentType): boolean {
  const isRead = [isJsonType, isFormType, isMultipartForm].some((isOfType) => isOfType(contentType));
  return !isRead && DOUBTFUL.test(contentType.type);
}

/** Returns the type as parameters contain it. */
export function contentTypeText({ type, charset }: ContentType): string {
  return charset === undefined ? type : `${type}; charset=${charset}`;
}

function withParameters(type: string, parameters: ReadonlyMap<string, string>): ContentType | string {
  const isMultipart = type === MULTIPART_FORM;
  const other = [...parameters.keys()].find((name) => name !== 'charset' && !(isMultipart && name === 'boundary'));
  if (other !== undefined)
    return `must have no parameter ${other}: what it says about the body would not be part of the action`;
  const charset = parameters.get('charset')?.toLowerCase();
  if (charset !== undefined && !CHARSET.test(charset)) return 'must have a charset such as utf-8';
  const boundary = parameters.get('boundary');
  if (isMultipart && (boundary === undefined || !BOUNDARY.test(boundary)))
    return 'must have a boundary of 1 to 70 letters, digits and characters of RFC 2046';
  return { type, ...(charset !== undefined && { charset }), ...(boundary !== undefined && { boundary }) };
}
