import { parsedJson } from '../../core/json/json-value';

/** Parsed JSON, which tests read member by member. */
export type Parsed = ReturnType<typeof JSON.parse>;

export interface Sent {
  /** Sent as JSON unless it is text already. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** API key to send; null to send none. */
  readonly key?: string | null;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined if it is empty or not JSON. */
  readonly body: Parsed;
}

/** Sends a request as an ordinary client would, with a key if `sent` has one. */
export async function sendRequest(url: string, method: string, path: string, sent: Sent): Promise<Answer> {
  const { body, headers = {}, key = null } = sent;
  const answer = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(key !== null && { 'X-API-Key': key }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await textOf(answer);
  return { status: answer.status, headers: answer.headers, text, body: parsedJson(text) };
}

/** Returns the text of a response; empty for a stream of events, which has no end and is cancelled. */
async function textOf(answer: Response): Promise<string> {
  if (answer.headers.get('content-type') !== 'text/event-stream') return answer.text();
  await answer.body?.cancel();
  return '';
}
