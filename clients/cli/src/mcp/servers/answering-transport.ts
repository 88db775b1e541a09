import { AsyncLocalStorage } from 'node:async_hooks';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { type AnswerBounds, DEFAULT_BOUNDS } from './answer-meter.js';
import type { PlaceForAnswer } from './large-answers.js';
import { lostAnswer } from './messages.js';
import { readableResponse } from './readable-response.js';
import { Reopening } from './reopening.js';
import { serverFetch } from './server-fetch.js';

type Fetch = typeof globalThis.fetch;

/** The address of a server over HTTP. */
export interface HttpTarget {
  readonly url: URL;
  readonly headers: HeadersInit;
  /** Sends the requests. Default: `serverFetch`. */
  readonly fetch?: Fetch;
  /** Bounds of the server's messages. Default: 16 MiB. */
  readonly bounds?: AnswerBounds;
  /** Chooses where a large message is read. Default: all large messages of the server are read at once. */
  readonly placeFor?: PlaceForAnswer;
  /** True if no governed request is sent again, not even to a server that has forgotten its session. */
  readonly sendsOnce?: boolean;
}

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];

const MAX_REDIRECTS = 5;
/** Time in milliseconds that a server has to end a stream after its answer: it might keep it open for ever. */
const MAX_END_MS = 1_000;
/** Requests of a server that are answered at a time: each answer is a request to it, which it might never answer. */
const MAX_ANSWERS = 10;
/** Statuses of redirects after which the same request is sent again. */
const KEEPING_METHOD: ReadonlySet<number> = new Set([307, 308]);

interface CurrentExchange {
  /** Id of the request. */
  readonly id: unknown;
  /** Ends the exchange. */
  readonly ending: AbortController;
  /** True if the response is a stream: then the answer may still come. */
  isStreamed: boolean;
  /** Why the response could not be read to its end. */
  fault: string;
}

/** The exchange of the current request; null for a message that has no answer. */
const exchanges = new AsyncLocalStorage<CurrentExchange | null>();

/**
 * A connection over HTTP in which each request is answered. The SDK would wait for ever where the HTTP response holds
 * no answer, or is a stream that ends without one. Such a request gets an error, which is ignored if it was answered
 * before.
 */
export class AnsweringTransport extends StreamableHTTPClientTransport {
  /** Ends the exchanges of the requests that are not answered, by their ids. */
  private readonly running = new Map<unknown, AbortController>();
  /** Number of answers to the server that are under way. */
  private answers = 0;

  constructor(target: HttpTarget) {
    const reopening = new Reopening();
    super(target.url, {
      requestInit: { headers: target.headers },
      fetch: (url, init) => watchedFetch(target, url, init),
      reconnectionScheduler: (reopen, delay) => {
        const timer = setTimeout(reopen, reopening.delay(delay, performance.now())).unref();
        return () => clearTimeout(timer);
      },
    });
  }

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options?: SendOptions): Promise<void> {
    // A request with its own way to see the end of the stream needs no error.
    if (Array.isArray(message) || options?.onRequestStreamEnd !== undefined)
      return exchanges.exit(() => super.send(message, options));
    if (isAnswer(message)) return this.sendAnswer(message, options);
    this.endCancelled(message);
    if (!isJSONRPCRequest(message)) return exchanges.run(null, () => super.send(message, options));
    const { id } = message;
    const ending = new AbortController();
    this.running.set(id, ending);
    ending.signal.addEventListener('abort', () => this.running.delete(id), { once: true });
    const exchange: CurrentExchange = { id, ending, isStreamed: false, fault: 'The connection carried no answer.' };
    const onRequestStreamEnd = (): void => {
      this.running.delete(id);
      this.onmessage?.(lostAnswer(id, exchange.fault));
    };
    const requestSignal = AbortSignal.any([ending.signal, ...(options?.requestSignal ? [options.requestSignal] : [])]);
    try {
      await exchanges.run(exchange, () => super.send(message, { ...options, onRequestStreamEnd, requestSignal }));
    } catch (error) {
      this.running.delete(id);
      throw error;
    }
    if (!exchange.isStreamed) onRequestStreamEnd();
  }

  /** Answers a request of the server, unless it has left too many answers waiting. */
  private async sendAnswer(message: JSONRPCMessage, options: SendOptions): Promise<void> {
    if (this.answers >= MAX_ANSWERS) return;
    this.answers += 1;
    try {
      await exchanges.run(null, () => super.send(message, options));
    } finally {
      this.answers -= 1;
    }
  }

  /**
   * Ends the exchange of a request that is cancelled: the server need not answer it any more, and might keep it open
   * for ever.
   */
  private endCancelled(message: JSONRPCMessage): void {
    if (!isJSONRPCNotification(message) || message.method !== 'notifications/cancelled') return;
    this.running.get(message.params?.['requestId'])?.abort();
  }
}

function isAnswer(message: JSONRPCMessage): boolean {
  return !('method' in message);
}

async function watchedFetch(
  { fetch: send = serverFetch, bounds = DEFAULT_BOUNDS, placeFor }: HttpTarget,
  url: string | URL,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetchWithin(send, url, init, MAX_REDIRECTS);
  const current = exchanges.getStore();
  const exchange = current ?? undefined;
  if (exchange !== undefined) exchange.isStreamed = isStream(response);
  return readableResponse(response, {
    // The stream of a connection is opened with its first message, which has no answer.
    isAnswer: current !== null || init?.method === 'GET',
    isStream: isStream(response),
    bounds,
    ...(placeFor !== undefined && { placeFor }),
    onFault: (message) => {
      if (exchange !== undefined) exchange.fault = message;
    },
    onAnswer: (id) => {
      if (exchange?.id === id) setTimeout(() => exchange?.ending.abort(), MAX_END_MS).unref();
    },
  });
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

/** True if a response is a stream of events. With the status 202 there is nothing to read, whatever the type. */
function isStream({ status, headers }: Response): boolean {
  return status !== 202 && /^text\/event-stream\s*(;|$)/i.test(headers.get('Content-Type') ?? '');
}
