import { doubtfulNumberIn } from '../unsafe-number.js';
import { parsed, withoutNulls } from './servers/messages.js';

/** The POST of a client over HTTP with its messages as the SDK reads them: without null members. */
export async function readableRequest(request: Request): Promise<Request> {
  const body = readableText(await request.text());
  const headers = new Headers(request.headers);
  headers.delete('Content-Length');
  return new Request(request, { headers, body });
}

function readableText(text: string): string {
  if (!text.includes('null')) return text;
  const value = parsed(text);
  // A number that cannot be held has to reach the check of the arguments as it was written.
  if (value === null || doubtfulNumberIn(value, 'message') !== undefined) return text;
  return JSON.stringify(Array.isArray(value) ? value.map((message) => withoutNulls(message)) : withoutNulls(value));
}
