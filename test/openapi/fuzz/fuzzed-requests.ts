import type { OpenAPIObject, ParameterObject } from '@nestjs/swagger';
import * as fc from 'fast-check';
import { type DocumentedOperation, operationsOf } from '../../support/requests/api-document';
import { type KnownRecords, Reference } from './known-records';
import { anyText, anyValue, SchemaValues } from './schema-values';

/** A generated request; its references are filled in when it is sent. */
export interface FuzzedRequest {
  readonly documented: DocumentedOperation;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: readonly (readonly [string, unknown])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly key: 'right' | 'wrong' | 'none';
  readonly body: FuzzedBody;
}

type FuzzedBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown; readonly type: string }
  | { readonly kind: 'bytes'; readonly value: unknown; readonly damage: readonly Damage[] };

/** Inserts, removes or replaces bytes at a place of the body, given as a fraction of its length. */
type Damage = readonly [place: number, length: number, replacement: Uint8Array];

/** The request as it is sent. */
export interface SentRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  /** The parameters of the path, decoded. */
  readonly path: Readonly<Record<string, string>>;
}

const JSON_TYPE = 'application/json';
/**
 * The path encodes a text once more, and the log masks what is encoded three times: the test would take it for a key.
 */
const ENCODED_TWICE = /%25[0-9a-f]{2}/i;
const KIND_BY_COLLECTION: Readonly<Record<string, string>> = {
  entities: 'ent',
  claims: 'clm',
  agents: 'agt',
  decisions: 'dec',
  policies: 'pol',
  executions: 'exe',
  stops: 'stp',
  webhooks: 'whk',
  provenance: 'sequence',
};
const TAGS = ['*', '"1"', '"2"', 'W/"1"', '"1", "2"', '"', 'x', '"999999999999999999999"', '""'];
const IDEMPOTENCY_KEYS = ['', 'a b', 'x'.repeat(256), ...Array.from({ length: 40 }, (_, index) => `key-${index}`)];
const NOISE: readonly Readonly<Record<string, string>>[] = [
  { 'X-Request-Id': 'fuzz.1' },
  { 'X-Request-Id': 'x'.repeat(200) },
  { 'X-Forwarded-For': '198.51.100.1, x' },
  { Accept: 'text/html' },
  { 'Content-Encoding': 'gzip' },
  { 'X-HTTP-Method-Override': 'DELETE' },
  { Origin: 'null', 'Access-Control-Request-Method': 'GET' },
  { Cookie: '__proto__=1', Authorization: 'Bearer x' },
  { 'If-Modified-Since': 'yesterday', Range: 'bytes=0-1', 'Accept-Charset': 'x' },
];
const TYPES = ['text/plain', 'application/json; charset=utf-16', 'multipart/form-data; boundary=x', 'application/JSON'];
/** The weight of an operation; an ordinary one has 20. */
const WEIGHTS: readonly (readonly [RegExp, number])[] = [
  // Each reads the whole chain.
  [/verify|export/, 2],
  // Few executions are to be stopped.
  [/stops_create/, 4],
  [/stops_lift/, 40],
  // More is created than removed.
  [/remove/, 10],
  [/create|add|propose|execute/, 40],
];

/** Generates requests for every operation of a document, valid and invalid ones. */
export function fuzzedRequests(document: OpenAPIObject): fc.Arbitrary<FuzzedRequest> {
  const values = new SchemaValues(document);
  const operations = operationsOf(document).map((documented) => ({
    weight: WEIGHTS.find(([ids]) => ids.test(documented.id))?.[1] ?? 20,
    // A reported failure shows the name of the operation, not the whole operation.
    arbitrary: requestOf(Object.assign(documented, { [fc.toStringMethod]: () => documented.id }), values),
  }));
  return fc.oneof(...operations);
}

function requestOf(documented: DocumentedOperation, values: SchemaValues): fc.Arbitrary<FuzzedRequest> {
  const parameters = (documented.operation.parameters ?? []) as ParameterObject[];
  const inPlace = (place: string): ParameterObject[] => parameters.filter((parameter) => parameter.in === place);
  return fc.record({
    documented: fc.constant(documented),
    path: fc.record(Object.fromEntries(inPlace('path').map(({ name }) => [name, pathValue(documented, name)]))),
    query: queryOf(inPlace('query'), values),
    headers: headersOf(inPlace('header').map(({ name }) => name)),
    key: fc.oneof(
      { weight: 40, arbitrary: fc.constant('right' as const) },
      { weight: 1, arbitrary: fc.constantFrom('wrong' as const, 'none' as const) },
    ),
    body: bodyOf(documented, values),
  });
}

function pathValue({ path }: DocumentedOperation, name: string): fc.Arbitrary<unknown> {
  const [, collection = ''] = new RegExp(`/(\\w+)/\\{${name}\\}`).exec(path) ?? [];
  const kind = KIND_BY_COLLECTION[collection] ?? 'ent';
  const ids = fc.nat(199).map((index) => new Reference(kind, index));
  const names = fc.nat(199).map((index) => new Reference(kind === 'agt' ? 'name' : kind, index));
  const others = fc.tuple(fc.constantFrom('ent', 'agt', 'aud'), fc.nat(199)).map(([of, at]) => new Reference(of, at));
  const text = anyText.filter((candidate) => candidate !== '' && !ENCODED_TWICE.test(candidate));
  return fc.oneof(
    { weight: 14, arbitrary: fc.oneof(ids, names) },
    { weight: 1, arbitrary: others },
    { weight: 1, arbitrary: text },
  );
}

function queryOf(parameters: readonly ParameterObject[], values: SchemaValues): fc.Arbitrary<[string, unknown][]> {
  const unknown = fc.tuple(fc.oneof(anyText, fc.constant('limit')), anyText);
  if (parameters.length === 0)
    return fc.oneof({ weight: 20, arbitrary: fc.constant<[string, unknown][]>([]) }, fc.array(unknown));
  // A second is as good as a minute here.
  const valuesOf = ({ name, schema = {} }: ParameterObject): fc.Arbitrary<unknown> =>
    name === 'wait' ? fc.constantFrom<unknown>(1, 0, 61, 'x') : values.valuesFor(schema, name);
  const pairs = parameters.map((parameter) => fc.tuple(fc.constant(parameter.name), valuesOf(parameter)));
  const chosen = fc.uniqueArray(fc.oneof(...pairs), { maxLength: 3, selector: ([name]) => name });
  return fc.oneof(
    { weight: 12, arbitrary: chosen },
    { weight: 1, arbitrary: fc.array(fc.oneof(...pairs, unknown), { maxLength: 4 }) },
  );
}

function headersOf(documented: readonly string[]): fc.Arbitrary<Record<string, string>> {
  const none = { weight: 3, arbitrary: fc.constant<Record<string, string>>({}) };
  const documentedHeaders = documented.map((name) => {
    const values = name === 'Idempotency-Key' ? IDEMPOTENCY_KEYS : TAGS;
    return { weight: 2, arbitrary: fc.constantFrom(...values).map((value) => ({ [name]: value })) };
  });
  const noise = { weight: 1, arbitrary: fc.constantFrom(...NOISE).map((headers) => ({ ...headers })) };
  return fc.oneof(none, ...documentedHeaders, noise);
}

function bodyOf({ operation }: DocumentedOperation, values: SchemaValues): fc.Arbitrary<FuzzedBody> {
  const { requestBody } = operation;
  const schema = requestBody !== undefined && 'content' in requestBody ? requestBody.content[JSON_TYPE]?.schema : {};
  const isTaken = requestBody !== undefined;
  const fine = isTaken ? values.valuesFor(schema ?? {}) : fc.constantFrom(undefined, {});
  const value = fc.oneof(
    { weight: 10, arbitrary: fine },
    { weight: 3, arbitrary: fc.tuple(fine, fc.nat(), anyValue).map(withOneReplaced) },
    { weight: 1, arbitrary: fc.tuple(fine, fc.nat()).map(([body, at]) => withOneReplaced([body, at, undefined])) },
    { weight: 1, arbitrary: fc.tuple(fine, anyText, anyValue).map(withOneMore) },
    { weight: 1, arbitrary: anyValue },
  );
  const place = fc.double({ min: 0, max: 1, noNaN: true });
  const damage = fc.tuple(place, fc.nat(20), fc.uint8Array({ maxLength: 6 }));
  const type = fc.oneof({ weight: 30, arbitrary: fc.constant(JSON_TYPE) }, fc.constantFrom(...TYPES));
  const kinds: fc.MaybeWeightedArbitrary<FuzzedBody>[] = [
    { weight: isTaken ? 1 : 8, arbitrary: fc.constant({ kind: 'none' }) },
    { weight: isTaken ? 16 : 1, arbitrary: fc.record({ kind: fc.constant('json'), value, type }) },
    {
      weight: isTaken ? 3 : 1,
      arbitrary: fc.record({
        kind: fc.constant('bytes'),
        value: fine,
        damage: fc.array(damage, { minLength: 1, maxLength: 3 }),
      }),
    },
  ];
  return fc.oneof(...kinds);
}

function withOneReplaced([body, at, replacement]: [unknown, number, unknown]): unknown {
  if (typeof body !== 'object' || body === null) return replacement;
  const names = Object.keys(body);
  return names.length === 0 ? replacement : { ...body, [names[at % names.length] ?? '']: replacement };
}

function withOneMore([body, name, value]: [unknown, string, unknown]): unknown {
  return typeof body === 'object' && body !== null ? { ...body, [name]: value } : value;
}

/** Fills in the references of a request. */
export function sentRequest(request: FuzzedRequest, records: KnownRecords, key: string): SentRequest {
  const { documented, query, body } = request;
  const path = pathOf(request, records);
  const target = Object.entries(path).reduce(
    (filled, [name, value]) =>
      filled.replace(`{${name}}`, () => encodeURIComponent(sound(value)).replace(/\./g, '%2E')),
    documented.path,
  );
  const pairs = query.map(([name, value]) => `${encoded(name)}=${encoded(String(filledIn(value, records)))}`);
  const hasBody = documented.method !== 'GET' && documented.method !== 'DELETE';
  const bytes = hasBody ? bytesOf(body, records) : undefined;
  return {
    method: documented.method,
    target: pairs.length === 0 ? target : `${target}?${pairs.join('&')}`,
    path,
    body: bytes,
    headers: {
      ...(bytes !== undefined && { 'Content-Type': body.kind === 'json' ? body.type : JSON_TYPE }),
      ...(request.key !== 'none' && { 'X-API-Key': request.key === 'right' ? key : 'wrong' }),
      ...request.headers,
    },
  };
}

function pathOf({ path }: FuzzedRequest, records: KnownRecords): Record<string, string> {
  const filled = Object.fromEntries(
    Object.entries(path).map(([name, value]) => [name, String(filledIn(value, records))]),
  );
  const entity = filled['claimId'] === undefined ? undefined : records.entityOf(filled['claimId']);
  return entity === undefined ? filled : { ...filled, id: entity };
}

function filledIn(value: unknown, records: KnownRecords): unknown {
  if (value instanceof Reference) return records.text(value);
  if (Array.isArray(value)) return value.map((item) => filledIn(item, records));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filledIn(member, records)]));
}

function bytesOf(body: FuzzedBody, records: KnownRecords): Buffer | undefined {
  if (body.kind === 'none') return undefined;
  const text = JSON.stringify(filledIn(body.value, records)) as string | undefined;
  if (text === undefined) return undefined;
  return body.kind === 'json' ? Buffer.from(text) : body.damage.reduce(damaged, Buffer.from(text));
}

function damaged(bytes: Buffer, [place, length, replacement]: Damage): Buffer {
  const start = Math.floor(place * bytes.length);
  return Buffer.concat([bytes.subarray(0, start), replacement, bytes.subarray(start + length)]);
}

function encoded(text: string): string {
  return encodeURIComponent(sound(text));
}

/** Replaces what cannot be encoded, as a client would. */
function sound(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}
