import type { Method } from './api-types.js';
import { errorOf, GovernanceError, unexpectedAnswer } from './governance-error.js';
import { newIdempotencyKey } from './idempotency-key.js';
import { unreachableText, wasNeverConnected } from './never-connected.js';
import { plainJson } from './plain-json.js';
import { isSameCaller } from './same-caller.js';
import { sleep } from './sleep.js';
import { currentTraceparent } from './trace-context.js';

/** Status of the service if it did nothing; a proxy also answers it for what the service may have done. */
const NOT_READY = 503;
/** Statuses of which a later request may get another: the service is busy or not ready, or a proxy does not reach it. */
const TEMPORARY: ReadonlySet<number> = new Set([429, 502, NOT_READY, 504]);
/** Milliseconds. */
const FIRST_PAUSE = 250;
const MAX_PAUSE_MS = 30_000;
const MAX_TIMER_MS = 2 ** 31 - 1;
/**
 * Paths whose answers contain a secret that is shown once. They accept no `Idempotency-Key`, so a lost answer is not
 * requested again.
 */
const SECRETS = /\/(?:api-keys|webhooks|rotate-secret)$/;

export interface TransportOptions {
  /** The address of the service, such as `http://127.0.0.1:3000`. */
  readonly url: string;
  /**
   * A key (`agk_…`, or the operator's) or a token of an issuer; a function is called before each attempt. A POST whose
   * answer was lost is repeated by the same caller alone: with the key of that attempt, or a token for the same
   * subject.
   */
  readonly key: string | (() => string | Promise<string>);
  /** Milliseconds for which a request is retried while the service is busy or unreachable. Default: 30,000. */
  readonly patience?: number;
  /** Milliseconds after which an answer that has not come counts as lost; 90,000 unless given. */
  readonly timeout?: number;
  /** Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface SentRequest {
  readonly method: Method;
  /** The path, with its parameters filled in. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for which the request is retried. Default: the patience of the transport. */
  readonly patience?: number;
  /** Time in milliseconds for which the service may hold its answer. */
  readonly hold?: number;
  /**
   * True for a POST without an `Idempotency-Key`: its sender finds out by itself if a request without an answer took
   * effect.
   */
  readonly isWithoutKey?: boolean;
}

export interface Answer {
  /** The parsed body; null if there is none. */
  readonly body: unknown;
  readonly headers: Headers;
}

/** Sends requests, and repeats those that a busy or missing service did not answer, with the same `Idempotency-Key`. */
export class Transport {
  private readonly url: string;

  /** @throws TypeError for options with which no request could succeed */
  constructor(private readonly options: TransportOptions) {
    requireUsable(options);
    // An address that ends in `/api/v1` stands for the service's address.
    this.url = options.url.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
  }

  /**
   * Returns the parsed body; null if there is none. @throws GovernanceError; the reason of `signal` once that is
   * aborted
   */
  async json(request: SentRequest): Promise<unknown> {
    return (await this.answer(request)).body;
  }

  /** Returns the parsed body and the headers. @throws like `json` */
  async answer(request: SentRequest): Promise<Answer> {
    const { text, headers } = await this.send(request, async (response) => ({
      text: await response.text(),
      headers: response.headers,
    }));
    return { body: text === '' ? null : parseText(text), headers };
  }

  /**
   * Returns the result of `parse` for a successful answer. A connection that breaks while `parse` reads counts as one
   * that gave no answer. Reading after `parse` has no time limit, and does not end by `signal`. @throws like `json`
   */
  async send<Result>(request: SentRequest, parse: (response: Response) => Promise<Result>): Promise<Result> {
    const headers = headersOf(request);
    const isHarmless = isHarmlessTwice(request.method, headers);
    const body = request.body === undefined ? null : plainJson(request.body);
    const patience = request.patience ?? this.options.patience ?? 30_000;
    const end = performance.now() + patience;
    let isOutcomeUnknown = false;
    let last: GovernanceError | null = null;
    // An Idempotency-Key counts only for its caller: with another caller, the request would take effect once more.
    let caller: string | null = null;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      const attempt: { readonly result: Result } | Failure = await this.attempt(
        request,
        headers,
        body,
        parse,
        caller,
      ).catch((error: unknown) => {
        // This attempt has no key. It is still unknown if an earlier attempt took effect.
        throw last?.isOutcomeUnknown === true && request.signal?.aborted !== true ? last : error;
      });
      if ('result' in attempt) return attempt.result;
      // A later attempt that is refused says nothing about an earlier one.
      isOutcomeUnknown ||= mayHaveHappened(attempt.error);
      attempt.error.isOutcomeUnknown = isOutcomeUnknown;
      if (isOutcomeUnknown && headers.has('Idempotency-Key')) caller ??= attempt.key;
      last = attempt.error;
      const wait = Math.max(pause * (0.75 + Math.random() / 2), attempt.retryAfter);
      // One lost answer must not use up all patience, so the request is sent once more.
      const isFirstSilence = attempt.isSilence && pause === FIRST_PAUSE && patience > 0;
      const isOver = performance.now() + wait > end && !isFirstSilence;
      const mayRepeat = isHarmless || !mayHaveHappened(attempt.error);
      if (!isTemporary(attempt.error) || !mayRepeat || isOver) throw attempt.error;
      await sleep(wait, request.signal);
    }
  }

  private async attempt<Result>(
    { method, path, signal, hold = 0 }: SentRequest,
    headers: Headers,
    body: string | null,
    parse: (response: Response) => Promise<Result>,
    caller: string | null,
  ): Promise<{ readonly result: Result } | Failure> {
    const { key, fetch: send = fetch, timeout = 90_000 } = this.options;
    signal?.throwIfAborted();
    const controller = new AbortController();
    const end = (): void => controller.abort(signal?.reason);
    const limit = Math.min(timeout + hold, MAX_TIMER_MS);
    const timer = setTimeout(end, limit);
    signal?.addEventListener('abort', end, { once: true });
    let used: string | null = null;
    try {
      const keyValue = typeof key === 'string' ? key : await unlessEnded(key(), controller.signal);
      const own = caller === null || isSameCaller(caller, keyValue) ? keyValue : caller;
      headers.set('Authorization', bearer(own));
      used = own;
      const response = await send(`${this.url}${path}`, {
        method: method.toUpperCase(),
        headers,
        // A followed redirect would carry the key to another address.
        redirect: 'manual',
        signal: controller.signal,
        body,
      });
      if (response.ok) return { result: await parse(response) };
      const text = await response.text();
      const error = isRedirect(response) ? redirectError(response) : errorOf(response.status, text);
      return { error, key: used, retryAfter: retryAfter(response), isSilence: false };
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof GovernanceError) throw cause;
      const isSilence = controller.signal.aborted;
      const facts = { code: 'UNREACHABLE', status: null, cause };
      const inTime = `within ${limit / 1_000} seconds`;
      if (used === null) throw isSilence ? new GovernanceError(`There was no key ${inTime}.`, facts) : cause;
      const message = isSilence
        ? `The governance service at ${this.url} did not answer ${inTime}.`
        : unreachableText(this.url, cause);
      const error = new GovernanceError(message, facts);
      return { error, key: used, retryAfter: 0, isSilence };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }
}

/** True if a request can carry the key. White space at its ends, as from a file, is not part of the key. */
export function canBeSent(key: string): boolean {
  return /^[\x21-\x7e]+$/.test(key.trim());
}

/** Returns the value of the header `Authorization`. @throws TypeError that does not show the key */
function bearer(key: string): string {
  if (!canBeSent(key))
    throw new TypeError('The key is empty, or has a character inside that no key has, such as a line break.');
  return `Bearer ${key.trim()}`;
}

/** Settles like the promise, or rejects as soon as `signal` is aborted. */
async function unlessEnded<Value>(promise: Value | Promise<Value>, signal: AbortSignal): Promise<Value> {
  const abortion = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  return Promise.race([promise, abortion]);
}

interface Failure {
  readonly error: GovernanceError;
  /** The key with which the request was sent. */
  readonly key: string;
  /** Time in milliseconds that the service wants the client to wait. */
  readonly retryAfter: number;
  /** True if the time for an answer is over. */
  readonly isSilence: boolean;
}

/**
 * Returns the headers of a request. The request's own headers replace the usual ones, whatever the case of their names.
 */
function headersOf({ method, path, body, headers: ownHeaders, isWithoutKey = false }: SentRequest): Headers {
  const headers = new Headers(ownHeaders);
  const complete = (name: string, value: () => string | null): void => {
    const text = headers.has(name) ? null : value();
    if (text !== null) headers.set(name, text);
  };
  if (body !== undefined) complete('Content-Type', () => 'application/json');
  if (method === 'post' && !isWithoutKey && !SECRETS.test(path)) complete('Idempotency-Key', newIdempotencyKey);
  complete('traceparent', currentTraceparent);
  return headers;
}

/** True for a redirect. Browsers show the type `opaqueredirect` and nothing else of it. */
function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400);
}

function redirectError({ status, headers }: Response): GovernanceError {
  return unexpectedAnswer(`a redirect to ${headers.get('Location') ?? 'somewhere else'}. Check the URL.`, status);
}

/**
 * Checks the options at run time: an environment variable that is not set, for example, has the value undefined.
 * @throws TypeError
 */
function requireUsable({ url, key, patience = 0, timeout = 1 }: TransportOptions): void {
  const [address, secret]: readonly unknown[] = [url, key];
  if (typeof address !== 'string' || !/^https?:\/\//i.test(address))
    throw new TypeError(`url is the address of the service, such as http://127.0.0.1:3000; it was ${String(address)}.`);
  if (typeof secret !== 'function' && typeof secret !== 'string')
    throw new TypeError(`key must be an API key, a token, or a function that returns one; it was ${kindOf(secret)}.`);
  if (!(patience >= 0)) throw new TypeError(`patience is milliseconds, 0 or more; it was ${patience}.`);
  if (!(timeout >= 1)) throw new TypeError(`timeout is milliseconds, 1 or more; it was ${timeout}.`);
}

/** Returns the type of a value, not the value, which may be the secret in another form. */
function kindOf(value: unknown): string {
  return value === null || value === undefined ? String(value) : `of the type ${typeof value}`;
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw unexpectedAnswer(text, null, cause);
  }
}

/** True if the same request may succeed later. */
export function isTemporary({ code, status }: GovernanceError): boolean {
  return code === 'UNREACHABLE' || (status !== null && TEMPORARY.has(status));
}

/**
 * True if a request that may have taken effect can be sent again. A change without `If-Match` cannot: it could undo
 * later changes by others. A deletion can: the deleted stays deleted.
 */
function isHarmlessTwice(method: Method, headers: Headers): boolean {
  if (method === 'post') return headers.has('Idempotency-Key');
  if (method === 'put' || method === 'patch') return (headers.get('If-Match') ?? '*') !== '*';
  return true;
}

function mayHaveHappened({ status, code, cause }: GovernanceError): boolean {
  if (status === null) return !wasNeverConnected(cause);
  // A proxy such as Envoy also answers 503 if the connection broke after it had passed the request on.
  if (status === NOT_READY) return code === 'UNEXPECTED_ANSWER';
  return status < 400 || status >= 500;
}

/** Milliseconds of a day: a longer timer than 24 days would end at once. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/**
 * Returns the milliseconds that the answer asks the client to wait. The service, or a proxy in front of it, gives
 * seconds, or a date by its own clock.
 */
function retryAfter({ headers }: Response): number {
  const retryAfter = headers.get('Retry-After') ?? '';
  if (/^\d+$/.test(retryAfter)) return Math.min(Number(retryAfter) * 1_000, MAX_RETRY_AFTER_MS);
  const now = Date.parse(headers.get('Date') ?? '') || Date.now();
  return Math.min(Math.max(0, (Date.parse(retryAfter) || now) - now), MAX_RETRY_AFTER_MS);
}
