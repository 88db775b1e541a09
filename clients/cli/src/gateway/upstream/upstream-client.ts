import { X509Certificate } from 'node:crypto';
import { Readable } from 'node:stream';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { buildConnector, type Client, Pool } from 'undici';
import { Connection } from '../../connection.js';
import { readRegularFile } from '../../regular-file.js';
import { SettingsError, shownMessage } from '../../settings.js';
import { Exchange, type SendResult } from './exchange.js';
import type { HeaderPair } from './request-headers.js';

/**
 * Milliseconds of idleness after which a connection carries no request that changes something, because the connection
 * may be dead.
 */
const WRITE_IDLE_MS = 4_000;
/** Milliseconds for which a connection for GET and HEAD may be idle, unless the upstream names a shorter time. */
const READ_IDLE_MS = 30_000;
const CONNECT_MS = 10_000;
/**
 * Maximum number of connections: as many as the requests that a gateway runs at a time. Further requests wait, so that
 * they do not take the file descriptors of all others.
 */
const MAX_CONNECTIONS = 1_000;
/** Milliseconds of silence after which an answer is cut. */
const MAX_SILENCE_MS = 300_000;
const MAX_HEAD_BYTES = 65_536;
/** Bytes of a body that are given to a connection at a time: TLS holds them a second time until they have been read. */
const PART_BYTES = 65_536;

const READ_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

export interface UpstreamAddress {
  readonly url: URL;
  /** Path of a file with more certificate authorities. */
  readonly ca?: string;
}

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query below the upstream's URL, as they came. */
  readonly target: string;
  readonly headers: readonly HeaderPair[];
  /** Credentials for the query, joined by `&`; empty if there are none. */
  readonly credentialQuery: string;
  readonly body: Buffer;
  /** True if no other request may follow on the connection. */
  readonly endsConnection: boolean;
  /** Maximum milliseconds until the head of the answer, including the time to connect. */
  readonly timeoutMs: number;
}

/** Sends requests to one upstream, over connections of its own. Follows no redirect, and sends nothing twice. */
export class UpstreamClient {
  private readonly basePath: string;
  private readonly reads: Pool;
  private readonly writes: Pool;

  /**
   * @param maxSilenceMs for which an answer that has begun may send nothing.
   * @throws Error if the file of certificate authorities cannot be read.
   */
  constructor({ url, ca }: UpstreamAddress, maxSilenceMs = MAX_SILENCE_MS) {
    this.basePath = basePathOf(url);
    const connector = connectorFor(ca);
    const factory = (origin: URL, options: object): Connection => Connection.open(origin, options, connector);
    const open = (maxIdleMs: number): Pool =>
      new Pool(url.origin, { ...poolOptions(maxIdleMs, maxSilenceMs), connections: MAX_CONNECTIONS, factory });
    this.reads = open(READ_IDLE_MS);
    this.writes = open(WRITE_IDLE_MS);
  }

  /**
   * Resolves with the head of the answer, or with a failure that says whether the request may have been carried out.
   *
   * @param signal ends the exchange at any time.
   */
  send(request: UpstreamRequest, signal: AbortSignal): Promise<SendResult> {
    const { method, body } = request;
    return new Promise((resolve) => {
      const exchange = new Exchange((result) => {
        clearTimeout(timer);
        resolve(result);
        // Until the body has ended, the signal ends it.
        if (result.kind === 'failure') signal.removeEventListener('abort', onAbort);
        else result.body.once('close', () => signal.removeEventListener('abort', onAbort));
      });
      const onAbort = (): void => exchange.cancel('CANCELLED');
      const timer = setTimeout(() => exchange.cancel('TIMEOUT'), request.timeoutMs);
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) {
        onAbort();
        return;
      }
      const pool = READ_METHODS.has(method) ? this.reads : this.writes;
      const path = this.basePath + withQuery(request.target, request.credentialQuery);
      const headers = request.headers.flat();
      const reset = request.endsConnection;
      if (body.length <= PART_BYTES) {
        pool.dispatch({ method, path, headers, body: body.length === 0 ? null : body, reset }, exchange);
        return;
      }
      headers.push('content-length', String(body.length));
      pool.dispatch({ method, path, headers, body: Readable.from(partsOf(body)), reset }, exchange);
    });
  }

  /** Ends all connections; exchanges that run end with an error. */
  async close(): Promise<void> {
    await Promise.all([this.reads.destroy(), this.writes.destroy()]);
  }
}

function* partsOf(body: Buffer): Generator<Buffer> {
  for (let start = 0; start < body.length; start += PART_BYTES) yield body.subarray(start, start + PART_BYTES);
}

/** Path of an upstream's URL without a final `/`: that of a target follows it. */
export function basePathOf(url: URL): string {
  return url.pathname.replace(/\/+$/, '');
}

function poolOptions(maxIdleMs: number, maxSilenceMs: number): Client.Options {
  return {
    pipelining: 1,
    keepAliveTimeout: maxIdleMs,
    keepAliveMaxTimeout: maxIdleMs,
    maxHeaderSize: MAX_HEAD_BYTES,
    // `send` has its own time, which includes connecting.
    headersTimeout: 0,
    bodyTimeout: maxSilenceMs,
  };
}

/**
 * Certificates are checked, whatever the environment says.
 * @param ca path of a file with more certificate authorities
 */
function connectorFor(ca: string | undefined): buildConnector.connector {
  return buildConnector({
    timeout: CONNECT_MS,
    rejectUnauthorized: true,
    ...(ca !== undefined && { secureContext: contextWith(readAuthorities(ca)) }),
  });
}

/** Maps authorities to their context while an upstream uses it: SIGHUP reads the same files again. */
const contexts = new Map<string, WeakRef<SecureContext>>();

/**
 * Returns the context of some authorities. It is made once for all connections, because each reading of all authorities
 * would hold up other requests.
 */
function contextWith(authorities: string): SecureContext {
  const known = contexts.get(authorities)?.deref();
  if (known !== undefined) return known;
  for (const [text, unused] of contexts) if (unused.deref() === undefined) contexts.delete(text);
  const context = createSecureContext({ ca: [...rootCertificates, authorities] });
  contexts.set(authorities, new WeakRef(context));
  return context;
}

/**
 * @throws SettingsError for a file that Node.js would take for one without authorities, such as one that is half
 *   written
 */
function readAuthorities(path: string): string {
  const text = readRegularFile(path);
  const certificates = text.match(/-----BEGIN [^]*?(?:-----END [^\n]*|$)/g) ?? [];
  try {
    if (certificates.length === 0) throw new Error('it has no certificate');
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch (error) {
    throw new SettingsError(`The file of certificate authorities ${path} cannot be used: ${shownMessage(error)}`);
  }
  return text;
}

/** The target stays as it came; the credentials follow. */
function withQuery(target: string, query: string): string {
  if (query === '') return target;
  return `${target}${target.includes('?') ? '&' : '?'}${query}`;
}
