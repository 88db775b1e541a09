import { Agent, type ClientRequest, type IncomingMessage, request as overHttp } from 'node:http';
import { Agent as SecureAgent, request as overHttps } from 'node:https';
import { text } from 'node:stream/consumers';

/** Milliseconds for which a connection is kept that nothing uses: less than the service, or a proxy in front of it, keeps it. */
const agentOptions = { keepAlive: true, timeout: 50_000 };
const plain = { agent: new Agent(agentOptions), request: overHttp };
const secure = { agent: new SecureAgent(agentOptions), request: overHttps };
/** Maximum time in milliseconds to connect. */
const MAX_CONNECT_MS = 10_000;

/**
 * A substitute for `fetch` for the client's requests: a body of text, a response that is read whole, and no redirects.
 * A call of a tool waits for two requests, and each takes `fetch` three times the processor time.
 */
export async function serviceFetch(url: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const target = new URL(url instanceof Request ? url.url : url);
  const { agent, request } = target.protocol === 'https:' ? secure : plain;
  const { method = 'GET', signal, body } = init;
  const headers = Object.fromEntries(new Headers(init.headers));
  try {
    const clientRequest = request(target, { agent, method, headers, ...(signal ? { signal } : {}) });
    limitConnecting(clientRequest);
    clientRequest.end(body);
    return await responseOf(await waitForAnswer(clientRequest));
  } catch (cause) {
    // In the form of `fetch`.
    throw new TypeError('The request failed.', { cause });
  }
}

/** With the code by which the client knows that nothing was sent. */
function limitConnecting(clientRequest: ClientRequest): void {
  clientRequest.once('socket', (socket) => {
    if (!socket.connecting) return;
    const error = Object.assign(new Error('The connection took too long.'), { code: 'UND_ERR_CONNECT_TIMEOUT' });
    const timer = setTimeout(() => clientRequest.destroy(error), MAX_CONNECT_MS);
    const stop = (): void => clearTimeout(timer);
    socket.once('connect', stop).once('close', stop);
  });
}

function waitForAnswer(clientRequest: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => clientRequest.once('response', resolve).on('error', reject));
}

async function responseOf(answer: IncomingMessage): Promise<Response> {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(answer.headersDistinct))
    for (const value of values) headers.append(name, value);
  const body = await text(answer);
  return new Response(body === '' ? null : body, { status: answer.statusCode ?? 0, headers });
}
