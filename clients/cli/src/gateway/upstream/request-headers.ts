/** Name and value of a header; each character of the value is a byte. */
export type HeaderPair = readonly [name: string, value: string];

export interface RequestHeaderInput {
  /** The client's headers as they came (names and values in turn), without the caller's key. */
  readonly rawHeaders: readonly string[];
  /** Names of the client's headers that go on, in lower case. */
  readonly listed: readonly string[];
  readonly credentials: readonly HeaderPair[];
  readonly traceparent?: string;
  /** Name of the upstream's header, and the execution's id. */
  readonly idempotency?: HeaderPair;
  /** Version of the gateway. */
  readonly version: string;
}

/**
 * The headers of a request to an upstream, except for `Host`, `Connection` and `Content-Length`. What the gateway sets
 * takes precedence over the client's, except for a listed `Accept` and `User-Agent`.
 */
export function buildRequestHeaders(input: RequestHeaderInput): HeaderPair[] {
  const listed = new Set(['content-type', ...input.listed]);
  const clientHeaders = headerPairs(input.rawHeaders).filter(([name]) => listed.has(name.toLowerCase()));
  const clientNames = namesOf(clientHeaders);
  const defaults: readonly HeaderPair[] = [
    ['accept', '*/*'],
    ['user-agent', `gov-gateway/${input.version}`],
  ];
  const gatewayHeaders: HeaderPair[] = [
    ...defaults.filter(([name]) => !clientNames.has(name)),
    ['accept-encoding', 'identity'],
    ...(input.traceparent === undefined ? [] : [['traceparent', input.traceparent] as const]),
    ...(input.idempotency === undefined ? [] : [input.idempotency]),
    ...input.credentials,
  ];
  const gatewayNames = namesOf(gatewayHeaders);
  return [...clientHeaders.filter(([name]) => !gatewayNames.has(name.toLowerCase())), ...gatewayHeaders];
}

/** Pairs of a list of names and values in turn. */
export function headerPairs(rawHeaders: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    pairs.push([rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '']);
  }
  return pairs;
}

function namesOf(headers: readonly HeaderPair[]): ReadonlySet<string> {
  return new Set(headers.map(([name]) => name.toLowerCase()));
}
