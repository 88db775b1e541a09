import type { JsonObject, JsonValue } from '../file/gateway-config.js';
import { hashBody } from './body-hash.js';
import { type ContentType, isDoubtfulType, isFormType, isJsonType, isMultipartForm } from './content-type.js';
import { parseFields } from './fields.js';
import { checkJson } from './json-check.js';
import { parseMultipart } from './multipart-body.js';
import { inTurns, type WorkOwner } from './turns.js';

/** A body as the action has it. */
export interface BodyParameter {
  /** The JSON body, the fields of a form, or a digest; undefined without a body. */
  readonly parameter: JsonValue | undefined;
  /**
   * The whole content, in which templates find their values; undefined if no template needs it, or it has too many
   * values.
   */
  readonly content: JsonValue | undefined;
  /** The bytes that are hashed: those of the body, or those of a multipart form with its boundary replaced. */
  readonly hashedBytes: readonly Buffer[];
  /** The names of a form, or of the outermost object, folded. */
  readonly names: readonly string[];
  /** True if the body was read as JSON or a form, so that no program takes it for a request. */
  readonly isRead: boolean;
}

interface BodyRules {
  readonly contentType: ContentType | undefined;
  readonly credentialNames: readonly string[];
  /** The most values that the parameter may have before it becomes a digest. */
  readonly maxValues: number;
  /** True if templates take values from the body. */
  readonly needsContent: boolean;
  readonly owner: WorkOwner;
}

const MAX_BYTES = 512 * 1024;
/** Bytes of a form, whose fields are decoded at once. */
const MAX_FORM_BYTES = 2 * 1024 * 1024;
/** Maximum number of values that the service takes in all. */
export const MAX_VALUES = 10_000;
const UTF_8_NAMES: readonly (string | undefined)[] = [undefined, 'utf-8', 'utf8'];

/** @returns what the body has to be, as the end of a sentence, if programs could read it differently */
export async function readBodyParameter(bytes: Buffer, rules: BodyRules): Promise<BodyParameter | string> {
  const { contentType, owner } = rules;
  if (bytes.length === 0) return { parameter: undefined, content: undefined, hashedBytes: [], names: [], isRead: true };
  // Rack reads such a body as a form.
  if (contentType === undefined) return 'must have a Content-Type, which says how it is read';
  if (isDoubtfulType(contentType))
    return `must have another Content-Type than ${contentType.type}, which some programs read as application/json or as a form`;
  const isJson = isJsonType(contentType);
  const isMultipart = isMultipartForm(contentType);
  if (!isJson && !isMultipart && !isFormType(contentType))
    return { ...(await digested([bytes], [], owner)), isRead: false };
  if (!UTF_8_NAMES.includes(contentType.charset)) return `must be UTF-8, not ${contentType.charset ?? ''}`;
  if (isJson) return readJson(bytes, rules);
  if (!isMultipart) return readForm(bytes, rules);
  const form = await inTurns(parseMultipart(bytes, contentType.boundary ?? ''), owner);
  return typeof form === 'string' ? form : digested(form.bytes, form.names, owner);
}

async function digest(hashedBytes: readonly Buffer[], owner: WorkOwner): Promise<JsonObject> {
  const bytes = hashedBytes.reduce((sum, { length }) => sum + length, 0);
  return { $sha256: await inTurns(hashBody(hashedBytes), owner), bytes };
}

async function digested(
  hashedBytes: readonly Buffer[],
  names: readonly string[],
  owner: WorkOwner,
): Promise<BodyParameter> {
  return { parameter: await digest(hashedBytes, owner), content: undefined, hashedBytes, names, isRead: true };
}

async function readJson(bytes: Buffer, rules: BodyRules): Promise<BodyParameter | string> {
  const { maxValues, needsContent, owner } = rules;
  const checked = await inTurns(checkJson(bytes), owner);
  if (typeof checked === 'string') return checked;
  const { values, names } = checked;
  const isSmall = values <= maxValues && bytes.length <= MAX_BYTES;
  // To parse it takes one step, however large it is.
  const isParsed = isSmall || (needsContent && values <= MAX_VALUES);
  const content = isParsed ? (JSON.parse(bytes.toString('utf8')) as JsonValue) : undefined;
  const parameter = isSmall ? content : await digest([bytes], owner);
  return { parameter, content, hashedBytes: [bytes], names, isRead: true };
}

/** Blanks and line ends, which forms encode: a form that has them as they are could be taken for a request. */
const BLANK = /\s/;

async function readForm(
  bytes: Buffer,
  { credentialNames, maxValues, owner }: BodyRules,
): Promise<BodyParameter | string> {
  if (bytes.length > MAX_FORM_BYTES)
    return `must have at most ${MAX_FORM_BYTES} bytes: send more as multipart/form-data`;
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes)) return 'must be percent-encoded UTF-8';
  const fields = await inTurns(parseFields(text, { credentialNames, isForm: true }), owner);
  if (typeof fields === 'string') return fields;
  const { values, names } = fields;
  const isRead = !BLANK.test(text);
  const isSmall = text.split('&').length <= maxValues && bytes.length <= MAX_BYTES;
  const parameter = isSmall ? values : await digest([bytes], owner);
  return { parameter, content: values, hashedBytes: [bytes], names, isRead };
}
