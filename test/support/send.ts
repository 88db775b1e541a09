import { connect } from 'node:net';
import { API_KEY, type TestApp } from './create-test-app';
import { watch } from './secret-watch';

/** Parsed JSON, which tests read member by member. */
export type Parsed = ReturnType<typeof JSON.parse>;

export interface Sent {
  /** Sent as JSON unless it is text already. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null: none is sent. */
  readonly key?: string | null;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined when it is empty or no JSON. */
  readonly body: Parsed;
}

/** Sends a request as an ordinary client does, with the API key. */
export async function send(app: Pick<TestApp, 'url'>, method: string, path: string, sent: Sent = {}): Promise<Answer> {
  const { body, headers = {}, key = API_KEY } = sent;
  const answer = await fetch(app.url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(key !== null && { 'X-API-Key': key }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  watch(`${method} ${path}`, `${JSON.stringify([...answer.headers])}${text}`, `${path} ${JSON.stringify(body)}`);
  return { status: answer.status, headers: answer.headers, text, body: parsed(text) };
}

/** Sends bytes as they are and answers with all that comes back until the server closes the connection. */
export function sendRaw(app: Pick<TestApp, 'url'>, request: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(app.url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(request));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      watch('answers', text);
      resolve(text);
    });
    socket.on('error', reject);
  });
}

/** Whether it says that an earlier request under the same idempotency key was answered so. */
export function isReplayed({ headers }: Answer): boolean {
  return headers.get('idempotent-replayed') === 'true';
}

/** Fields blamed in the details of an error, with their messages. */
export function faults(answer: Answer): Record<string, string> {
  const details: { field: string; message: string }[] = answer.body?.error?.details ?? [];
  return Object.fromEntries(details.map(({ field, message }) => [field, message]));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
