import { API_KEY } from './api-key';
import type { TestApp } from './create-test-app';
import { type Parsed, sendRaw } from './send';

/** An answer received over a connection. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly body: Parsed;
}

/** The required answer to a request; for an error its code and the fields in its details, in any order. */
export interface ExpectedAnswer {
  readonly status: number;
  readonly code?: string;
  readonly fields?: readonly string[];
}

/** Internals that no answer may show: a stack, a statement, a file, the key. */
export const LEAK = /\n {4}at |node:internal|\.(ts|js):\d|SQLITE_|SELECT |INSERT |node_modules|Cannot (GET|POST)|<pre>/;

/** A request as text, with the key, on a connection that ends with it; `headers` are lines. */
export function wire(line: string, headers: readonly string[] = [], body: string | Buffer = ''): Buffer {
  const head = [line, 'Host: x', `X-API-Key: ${API_KEY}`, 'Connection: close', ...headers];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
}

/** A POST of JSON, with its length. */
export function post(path: string, body: string | Buffer, headers: readonly string[] = []): Buffer {
  const type = headers.some((header) => /^content-type:/i.test(header)) ? [] : ['Content-Type: application/json'];
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  return wire(`POST ${path} HTTP/1.1`, [...type, length, ...headers], body);
}

/** Sends bytes and returns everything received until the connection ends. */
export async function exchange(app: Pick<TestApp, 'url'>, request: Buffer): Promise<WireAnswer[]> {
  const answers: WireAnswer[] = [];
  let rest = await sendRaw(app, request);
  while (rest !== '') {
    const [answer, length] = firstAnswer(rest);
    answers.push(answer);
    rest = rest.slice(length);
  }
  return answers;
}

/** The status, code and faulty fields of an answer, after checking that it shows no internals. */
export function summaryOf({ status, text, body }: WireAnswer): ExpectedAnswer {
  expect(text).not.toMatch(LEAK);
  expect(text).not.toContain(API_KEY);
  if (status < 400) return { status };
  const { code, details } = body.error as { code: string; details?: { field: string }[] };
  return { status, code, ...(details !== undefined && { fields: details.map(({ field }) => field).sort() }) };
}

/** Sends a request that must get this refusal, and change nothing. */
export async function expectRefusal(app: TestApp, request: Buffer, expected: ExpectedAnswer): Promise<WireAnswer> {
  const before = await statistics(app);
  const [answer, ...others] = await exchange(app, request);
  if (answer === undefined) throw new Error('The connection ended without an answer.');
  expect([answer, ...others].map(summaryOf)).toEqual([expected]);
  expect(await statistics(app)).toEqual(before);
  return answer;
}

/** The counts of all records and of the chain's entries. */
export async function statistics(app: Pick<TestApp, 'url'>): Promise<Parsed> {
  const answer = await fetch(`${app.url}/api/v1/stats`, { headers: { 'X-API-Key': API_KEY } });
  return answer.json();
}

/** A refusal with VALIDATION_ERROR for these fields. */
export function invalid(...fields: string[]): ExpectedAnswer {
  return { status: 400, code: 'VALIDATION_ERROR', fields: fields.sort() };
}

/** The first answer in what was received, and its length. Texts are ASCII, or their length does not matter. */
function firstAnswer(text: string): [WireAnswer, number] {
  const end = text.indexOf('\r\n\r\n') + 4;
  const [statusLine = '', ...lines] = text.slice(0, end - 4).split('\r\n');
  const headers = new Map(lines.map((line) => [line.split(':')[0]?.toLowerCase() ?? '', line.replace(/^[^:]*: /, '')]));
  const status = Number(statusLine.split(' ')[1]);
  const bytes = status < 200 ? 0 : Number(headers.get('content-length') ?? 0);
  const content = Buffer.from(text.slice(end)).subarray(0, bytes).toString();
  return [{ status, headers, text: content, body: parsed(content) }, end + content.length];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
