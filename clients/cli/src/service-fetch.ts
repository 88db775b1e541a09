import { Agent, type Dispatcher, request } from 'undici';

/** Milliseconds for which an idle connection is kept: less than the service, or a proxy in front of it, keeps it. */
const MAX_IDLE_MS = 50_000;
/** Maximum time in milliseconds to connect. */
const MAX_CONNECT_MS = 10_000;

/** Bytes of an answer: those of the service are far smaller. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

const agent = new Agent({
  keepAliveTimeout: MAX_IDLE_MS,
  keepAliveMaxTimeout: MAX_IDLE_MS,
  // The client has its own time for an answer.
  headersTimeout: 0,
  bodyTimeout: 0,
  maxResponseSize: MAX_ANSWER_BYTES,
  connect: { timeout: MAX_CONNECT_MS },
});

/**
 * Does what `fetch` does for requests to the service, with a body of text, a response that is read whole, and no
 * redirects. `fetch` would take several times the processor time, and each call of a tool waits for two requests.
 */
export async function serviceFetch(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const { method = 'GET', signal = null, body = null, headers } = init;
  if (body !== null && typeof body !== 'string') throw new TypeError('The body of a request to the service is a text.');
  try {
    const answer = await request(url instanceof Request ? url.url : url, {
      dispatcher: agent,
      method: method,
      headers: Object.fromEntries(headers instanceof Headers ? headers : new Headers(headers)),
      body,
      signal,
    });
    return await responseOf(answer);
  } catch (cause) {
    // The error has the form of those of `fetch`.
    throw new TypeError('The request failed.', { cause });
  }
}

async function responseOf({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Response> {
  const text = await body.text();
  const pairs = Object.entries(headers).flatMap(([name, values = []]) =>
    [values].flat().map((value): [string, string] => [name, value]),
  );
  return new Response(text === '' ? null : text, { status: statusCode, headers: pairs });
}
