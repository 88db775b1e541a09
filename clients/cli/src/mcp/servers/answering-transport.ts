import { AsyncLocalStorage } from 'node:async_hooks';
import { isJSONRPCRequest, type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { lostAnswer } from './messages.js';
import { readableResponse } from './readable-response.js';

type Fetch = typeof globalThis.fetch;

/** The address of a server over HTTP. */
export interface HttpTarget {
  readonly url: URL;
  readonly headers: HeadersInit;
  /** Sends the requests in place of the global `fetch`. */
  readonly fetch?: Fetch;
}

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];

const MAX_REDIRECTS = 5;
/** Statuses of redirects after which the same request is sent again. */
const KEEPING_METHOD: ReadonlySet<number> = new Set([307, 308]);

/** The exchange of the current request. If its response is a stream, the answer may still come. */
const exchanges = new AsyncLocalStorage<{ isStreamed: boolean }>();

/**
 * A connection over HTTP in which each request is answered. The SDK would wait for ever where the HTTP response holds no
 * answer, or is a stream that ends without one. Such a request gets an error, which is ignored if it was answered before.
 */
export class AnsweringTransport extends StreamableHTTPClientTransport {
  constructor({ url, headers, fetch: send = fetch }: HttpTarget) {
    super(url, { requestInit: { headers }, fetch: (target, init) => watchedFetch(send, target, init) });
  }

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    // A request with its own way to see the end of the stream needs no error.
    if (Array.isArray(message) || !isJSONRPCRequest(message) || options?.onRequestStreamEnd !== undefined) {
      return super.send(message, options);
    }
    const { id } = message;
    const onRequestStreamEnd = (): void => {
      this.onmessage?.(lostAnswer(id, 'The connection carried no answer.'));
    };
    const exchange = { isStreamed: false };
    await exchanges.run(exchange, () => super.send(message, { ...options, onRequestStreamEnd }));
    if (!exchange.isStreamed) onRequestStreamEnd();
  }
}

async function watchedFetch(send: Fetch, url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetchWithin(send, url, init, MAX_REDIRECTS);
  const exchange = exchanges.getStore();
  if (exchange !== undefined) exchange.isStreamed = isStream(response);
  return readableResponse(response, isStream(response));
}

/** Follows redirects within the server only: its headers may hold a secret that is meant for no other. */
async function fetchWithin(
  send: Fetch,
  url: string | URL,
  init: RequestInit | undefined,
  remainingRedirects: number,
): Promise<Response> {
  const response = await send(url, { ...init, redirect: 'manual' });
  const location = response.headers.get('Location');
  if (!KEEPING_METHOD.has(response.status) || location === null) return response;
  const [from, target] = [new URL(url), new URL(location, url)];
  if (target.origin !== from.origin)
    throw new Error(
      `${from.href} redirects to ${target.href}. Redirects to another origin are not followed; pass that URL with --url.`,
    );
  if (remainingRedirects === 0) throw new Error(`${from.href} redirects too often.`);
  await response.body?.cancel();
  return fetchWithin(send, target, init, remainingRedirects - 1);
}

/** With the status 202 there is nothing to read, whatever the type. */
function isStream({ status, headers }: Response): boolean {
  return status !== 202 && /^text\/event-stream\s*(;|$)/i.test(headers.get('Content-Type') ?? '');
}
