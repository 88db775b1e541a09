import { connect } from 'node:net';
import { type Answer, type Parsed, sendRequest, type Sent } from '../../../src/program/testing/send';
import { API_KEY } from './api-key';
import type { TestApp } from './create-test-app';
import { watch } from './secret-watch';

export type { Answer, Parsed, Sent };

/** Sends a request as an ordinary client does, with the API key. */
export async function send(app: Pick<TestApp, 'url'>, method: string, path: string, sent: Sent = {}): Promise<Answer> {
  const answer = await sendRequest(app.url, method, path, { key: API_KEY, ...sent });
  watch(
    `${method} ${path}`,
    `${JSON.stringify([...answer.headers])}${answer.text}`,
    `${path} ${JSON.stringify(sent.body)}`,
  );
  return answer;
}

/** Sends bytes unchanged and returns everything received until the server closes the connection. */
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

/** True if the answer is marked as replayed from an earlier request under the same idempotency key. */
export function isReplayed({ headers }: Answer): boolean {
  return headers.get('idempotent-replayed') === 'true';
}

/** The fields in the details of an error, with their messages. */
export function faults(answer: Answer): Record<string, string> {
  const details: { field: string; message: string }[] = answer.body?.error?.details ?? [];
  return Object.fromEntries(details.map(({ field, message }) => [field, message]));
}
