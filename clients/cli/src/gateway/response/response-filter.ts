import { addAbortSignal, type Readable } from 'node:stream';
import type { UpstreamResponse } from '../upstream/exchange.js';
import type { HeaderPair } from '../upstream/request-headers.js';
import {
  announcedLength,
  filterHeaders,
  findRefusal,
  type ResponseRefusal,
  withoutBodyHeaders,
} from './header-rules.js';
import { redactStream, searchTurn } from './redaction-stream.js';
import type { CurrentRedactor, Redactor } from './redactor.js';
import type { ResponseUrls } from './response-urls.js';

/** An answer as the client gets it. */
export interface FilteredResponse {
  readonly kind: 'response';
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly body: AsyncIterable<Buffer>;
  /** Ends the connection to the upstream, if the body is not read to its end. */
  discard(): void;
}

export interface ResponseContext {
  /** The method of the request. */
  readonly method: string;
  readonly urls: ResponseUrls;
  readonly redactor: CurrentRedactor;
  /** The agent that reads the answer. */
  readonly agentId: string;
  /** Fires when the client has left: then an answer that is read whole ends, too. */
  readonly left: AbortSignal;
}

/**
 * Maximum announced bytes of a body that is read whole before its head is sent: only then is it known whether its
 * length, `ETag` and digests stay true. Longer bodies, and those of unannounced length, are sent without these headers.
 */
const MAX_WHOLE_BODY_BYTES = 65_536;
const NO_CONTENT = 204;
const STATUSES_WITHOUT_BODY: ReadonlySet<number> = new Set([NO_CONTENT, 304]);

/**
 * Applies the rules for headers and replaces credentials. If a body breaks off while it is read whole, the client gets
 * the part that came.
 */
export async function filterResponse(
  response: UpstreamResponse,
  context: ResponseContext,
): Promise<FilteredResponse | ResponseRefusal> {
  const { status, body } = response;
  const { method, urls, redactor, agentId } = context;
  const refusal = findRefusal({ method, status, headers: response.headers }, urls);
  if (refusal !== null) {
    body.destroy();
    return refusal;
  }
  const { headers, isRedacted } = redactHeaders(filterHeaders(response.headers, urls), redactor());
  const discard = (): void => void body.destroy();
  const passOn = (parts: AsyncIterable<Buffer>, kept: readonly HeaderPair[]): FilteredResponse => {
    return { kind: 'response', status, headers: kept, body: parts, discard };
  };
  if (method === 'HEAD' || STATUSES_WITHOUT_BODY.has(status)) {
    // undici takes an answer without a body for one that broke off if its head has a length.
    body.resume();
    return passOn(allParts([], null), isRedacted ? withoutBodyHeaders(headers) : withTrueLength(headers, status));
  }
  const length = announcedLength(response.headers);
  if (redactor().isEmpty) {
    // The next file may give the upstream credentials while a stream goes on.
    return passOn(length === null ? redactStream(body, redactor, agentId) : body, headers);
  }
  if ((length ?? Infinity) > MAX_WHOLE_BODY_BYTES) {
    return passOn(redactStream(body, redactor, agentId), withoutBodyHeaders(headers));
  }
  const { bytes, fault } = await readWhole(body, context.left);
  await searchTurn(bytes, agentId);
  // The end of what broke off may be the beginning of a credential.
  const whole = redactor().redact(bytes, fault === null);
  const isChanged = isRedacted || whole.isRedacted;
  return passOn(allParts(whole.output, fault), isChanged ? withoutBodyHeaders(headers) : headers);
}

/** A 204 has no length: RFC 9110, 8.6. Another answer without a body has the length of the body for which it stands. */
function withTrueLength(headers: readonly HeaderPair[], status: number): readonly HeaderPair[] {
  return status === NO_CONTENT ? headers.filter(([name]) => name.toLowerCase() !== 'content-length') : headers;
}

/** Replaces credentials in values; a header whose name has one is dropped. */
function redactHeaders(
  headers: readonly HeaderPair[],
  redactor: Redactor,
): { readonly headers: HeaderPair[]; readonly isRedacted: boolean } {
  let isRedacted = false;
  const redactText = (text: string): string => {
    const result = redactor.redactAll(Buffer.from(text, 'latin1'));
    isRedacted ||= result.isRedacted;
    return result.isRedacted ? result.bytes.toString('latin1') : text;
  };
  const redacted = headers.flatMap(([name, value]): HeaderPair[] => {
    const isNameShown = redactText(name) === name;
    return isNameShown ? [[name, redactText(value)]] : [];
  });
  return { headers: redacted, isRedacted };
}

/** A body that was read as far as it came. */
interface ReadBody {
  readonly bytes: Buffer;
  /** Why it broke off; null if it is whole. */
  readonly fault: Error | null;
}

async function readWhole(body: Readable, left: AbortSignal): Promise<ReadBody> {
  addAbortSignal(left, body);
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk);
    return { bytes: Buffer.concat(chunks), fault: null };
  } catch (error) {
    return { bytes: Buffer.concat(chunks), fault: error as Error };
  }
}

/** @param fault thrown after the parts, unless it is null */
async function* allParts(parts: readonly Buffer[], fault: Error | null): AsyncGenerator<Buffer> {
  yield* parts;
  if (fault !== null) throw fault;
}
