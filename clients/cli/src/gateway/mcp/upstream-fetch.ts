import { ReadableStream } from 'node:stream/web';
import { Agent, fetch as undiciFetch } from 'undici';
import type { McpUpstream } from '../file/gateway-config.js';
import { redactStream } from '../response/redaction-stream.js';
import type { Redactor } from '../response/redactor.js';
import type { SecretStore } from '../secrets/secret-store.js';
import { connectOptions } from '../upstream/upstream-client.js';
import { UpstreamCredentials } from '../upstream/upstream-credentials.js';

/** Headers of an MCP server that its client reads. */
const KEPT_HEADERS = ['content-type', 'mcp-session-id', 'location', 'retry-after'];
const STATUSES_WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
/** Time in milliseconds for which a stream may be silent: MCP servers send nothing while nothing happens. */
const MAX_SILENCE_MS = 3_600_000;

/** Sends the requests for one MCP server: with its credentials, which no answer shows. */
export class UpstreamFetch {
  private readonly agent: Agent;
  private readonly credentials: UpstreamCredentials;

  /** @throws Error if the file of certificate authorities cannot be read */
  constructor(
    private readonly config: McpUpstream,
    secrets: SecretStore,
  ) {
    const { ca, credentials } = config;
    this.credentials = new UpstreamCredentials(credentials, secrets);
    this.agent = new Agent({
      headersTimeout: 0,
      bodyTimeout: MAX_SILENCE_MS,
      connect: connectOptions(ca),
    });
  }

  /** As `fetch`. Redirects are not followed. */
  readonly fetch = async (target: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { sent, redactor } = this.credentials.current();
    const url = new URL(target instanceof Request ? target.url : target);
    if (sent.query !== '') url.search += `${url.search === '' ? '' : '&'}${sent.query}`;
    const headers = new Headers(init.headers);
    headers.set('Accept-Encoding', 'identity');
    for (const [name, value] of sent.headers) headers.set(name, value);
    const ending = new AbortController();
    const timer = setTimeout(
      () => ending.abort(new Error('The head of the answer did not come in time.')),
      this.config.timeoutMs,
    );
    try {
      const answer = await undiciFetch(url, {
        method: init.method ?? 'GET',
        headers: [...headers],
        body: typeof init.body === 'string' ? init.body : null,
        redirect: 'manual',
        signal: init.signal ? AbortSignal.any([init.signal, ending.signal]) : ending.signal,
        dispatcher: this.agent,
      });
      return redactedResponse(answer as unknown as Response, redactor);
    } finally {
      clearTimeout(timer);
    }
  };

  async close(): Promise<void> {
    await this.agent.destroy();
  }
}

function redactedResponse({ status, headers, body }: Response, redactor: Redactor): Response {
  const kept = KEPT_HEADERS.flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, redactor.redactAll(Buffer.from(value, 'latin1')).bytes.toString('latin1')]];
  });
  const isEmpty = body === null || STATUSES_WITHOUT_BODY.has(status);
  const redacted = isEmpty ? null : ReadableStream.from(redactStream(body, redactor));
  return new Response(redacted as BodyInit | null, { status, headers: kept });
}
