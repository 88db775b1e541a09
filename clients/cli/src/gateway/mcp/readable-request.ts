import { doubtfulNumberIn } from '../../unsafe-number.js';
import { parseMessage, withoutNulls } from '../../mcp/servers/messages.js';

/** Returns the POST of a client with its messages as the SDK reads them: without null members. */
export async function readableRequest(request: Request): Promise<Request> {
  const body = readableText(await request.text());
  const headers = new Headers(request.headers);
  headers.delete('Content-Length');
  return new Request(request, { headers, body });
}

function readableText(text: string): string {
  if (!text.includes('null')) return text;
  const value = parseMessage(text);
  // A number that a double cannot hold has to reach the check of the arguments as it was written.
  if (value === null || doubtfulNumberIn(value, 'message') !== undefined) return text;
  return JSON.stringify(Array.isArray(value) ? value.map((message) => withoutNulls(message)) : withoutNulls(value));
}
