import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../file/gateway-config.js';
import { type ContentType, isDoubtfulType, isFormType, isJsonType, isMultipartForm } from './content-type.js';
import { parseFields } from './fields.js';
import { parseJsonBody } from './json-body.js';
import { parseMultipart } from './multipart-body.js';

/** A body as the action has it. */
export interface BodyParameter {
  /** The JSON body, the fields of a form, or a digest; undefined without a body. */
  readonly parameter: JsonValue | undefined;
  /** The whole content, in which templates find their values; undefined if it is only a digest. */
  readonly content: JsonValue | undefined;
  /** What digests are made of. */
  readonly bytes: Buffer;
}

interface BodyRules {
  readonly contentType: ContentType | undefined;
  readonly credentialNames: readonly string[];
  /** The most values that the parameter may have before it becomes a digest. */
  readonly maxValues: number;
}

const MAX_BYTES = 512 * 1024;
const UTF_8_NAMES: readonly (string | undefined)[] = [undefined, 'utf-8', 'utf8'];

/** @returns what the body has to be, as the end of a sentence, if programs could read it differently */
export function readBodyParameter(bytes: Buffer, rules: BodyRules): BodyParameter | string {
  const { contentType } = rules;
  if (bytes.length === 0) return { parameter: undefined, content: undefined, bytes };
  // Rack reads such a body as a form.
  if (contentType === undefined) return 'must have a Content-Type, which says how it is read';
  if (isDoubtfulType(contentType))
    return `must have another Content-Type than ${contentType.type}, which some programs read as application/json or as a form`;
  const isJson = isJsonType(contentType);
  const isMultipart = isMultipartForm(contentType);
  if (!isJson && !isMultipart && !isFormType(contentType)) return digested(bytes);
  if (!UTF_8_NAMES.includes(contentType.charset)) return `must be UTF-8, not ${contentType.charset ?? ''}`;
  if (isJson) return readJson(bytes, rules);
  if (!isMultipart) return readForm(bytes, rules);
  const form = parseMultipart(bytes, contentType.boundary ?? '');
  return typeof form === 'string' ? form : digested(form.bytes);
}

export function digest(bytes: Buffer): JsonObject {
  return { $sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
}

function digested(bytes: Buffer): BodyParameter {
  return { parameter: digest(bytes), content: undefined, bytes };
}

function readJson(bytes: Buffer, { maxValues }: BodyRules): BodyParameter | string {
  const body = parseJsonBody(bytes);
  if (typeof body === 'string') return body;
  return bounded(body.value, body.values, { bytes, maxValues });
}

function readForm(bytes: Buffer, { credentialNames, maxValues }: BodyRules): BodyParameter | string {
  const text = bytes.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(bytes)) return 'must be percent-encoded UTF-8';
  const fields = parseFields(text, { credentialNames, isForm: true });
  if (typeof fields === 'string') return fields;
  return bounded(fields.values, text.split('&').length, { bytes, maxValues });
}

function bounded(
  content: JsonValue,
  values: number,
  { bytes, maxValues }: { readonly bytes: Buffer; readonly maxValues: number },
): BodyParameter {
  const isSmall = values <= maxValues && bytes.length <= MAX_BYTES;
  return { parameter: isSmall ? content : digest(bytes), content, bytes };
}
