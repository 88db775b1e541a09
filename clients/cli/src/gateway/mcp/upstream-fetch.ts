import { ReadableStream } from 'node:stream/web';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NotSentError } from '../../mcp/servers/unknown-outcome.js';
import type { McpUpstream } from '../file/gateway-config.js';
import { redactStream } from '../response/redaction-stream.js';
import type { CurrentRedactor } from '../response/redactor.js';
import type { SecretStore } from '../secrets/secret-store.js';
import type { UpstreamResponse } from '../upstream/exchange.js';
import { UpstreamClient } from '../upstream/upstream-client.js';
import { UpstreamCredentials } from '../upstream/upstream-credentials.js';

/** Headers of an MCP server that its client reads. */
const KEPT_HEADERS: ReadonlySet<string> = new Set(['content-type', 'mcp-session-id', 'retry-after']);
const MAX_STATUS = 599;
/** Statuses of redirects: 304 is an answer. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const STATUSES_WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
/** Bytes of an answer that are searched for credentials before others are served. */
const STEP_BYTES = 256 * 1024;
/** Time in milliseconds for which a stream may be silent: MCP servers send nothing while nothing happens. */
const MAX_SILENCE_MS = 3_600_000;

/** Sends the requests for one MCP server in place of `fetch`: with its credentials, which no answer shows. */
export class UpstreamFetch {
  private readonly client: UpstreamClient;
  private readonly credentials: UpstreamCredentials;

  /** @throws Error if the file of certificate authorities cannot be read */
  constructor(
    private readonly config: McpUpstream,
    secrets: SecretStore,
  ) {
    const { url, ca, credentials } = config;
    this.credentials = new UpstreamCredentials(credentials, secrets);
    this.client = new UpstreamClient({ url: new URL(url.origin), ...(ca !== undefined && { ca }) }, MAX_SILENCE_MS);
  }

  /**
   * As `fetch`, for URLs of the server's origin. A redirect is an error, as the server may have acted.
   * @param agentId the agent that reads the answer
   * @throws NotSentError
   */
  async fetch(agentId: string, target: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const { sent, redactor } = this.credentials.current();
    const { pathname, search } = new URL(target instanceof Request ? target.url : target);
    const headers = new Headers(init.headers);
    headers.set('Accept-Encoding', 'identity');
    for (const [name, value] of sent.headers) headers.set(name, value);
    const request = {
      method: init.method ?? 'GET',
      target: pathname + search,
      headers: [...headers],
      credentialQuery: sent.query,
      body: Buffer.from(typeof init.body === 'string' ? init.body : ''),
      // A message is JSON, which no program takes for a request.
      endsConnection: false,
      timeoutMs: this.config.timeoutMs,
    };
    const result = await this.client.send(request, init.signal ?? new AbortController().signal);
    if (result.kind === 'response') {
      const fault = statusFault(result.status);
      if (fault === null) return redactedResponse(result, redactor, agentId);
      result.body.destroy();
      throw new Error(fault);
    }
    init.signal?.throwIfAborted();
    if (result.reason === 'not_sent') throw new NotSentError(`it cannot be reached (${result.code})`);
    throw new Error(`no answer came (${result.code})`);
  }

  async close(): Promise<void> {
    await this.client.close();
  }
}

function redactedResponse(
  { status, headers, body }: UpstreamResponse,
  redactor: CurrentRedactor,
  agentId: string,
): Response {
  const kept = headers.flatMap(([name, value]): [string, string][] => {
    if (!KEPT_HEADERS.has(name.toLowerCase())) return [];
    return [[name, redactor().redactAll(Buffer.from(value, 'latin1')).bytes.toString('latin1')]];
  });
  const isEmpty = STATUSES_WITHOUT_BODY.has(status);
  if (isEmpty) body.destroy();
  const redacted = isEmpty ? null : ReadableStream.from(inSteps(redactStream(body, redactor, agentId)));
  return new Response(redacted as BodyInit | null, { status, headers: kept });
}

/** Serves others between the parts of a body that is there already. */
async function* inSteps(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const part of parts) {
    bytes += part.length;
    if (bytes >= STEP_BYTES) {
      bytes = 0;
      await nextTurn();
    }
    yield part;
  }
}

/** Returns why an answer with this status cannot be used; null if it can. */
function statusFault(status: number): string | null {
  if (status > MAX_STATUS) return `it answers ${status}, which is no status of HTTP`;
  if (!REDIRECTS.has(status)) return null;
  return `it answers ${status}, and redirects are not followed: the file has to have its final URL`;
}
