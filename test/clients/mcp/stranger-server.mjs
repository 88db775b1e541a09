import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

// A server that answers some methods with the lines of a file, { <method>: [line, …] } in JSON, read for each request:
// %ID% is the id of the request, %N% a number that rises, %BIG% and %SIZE% 17 and 8 MB of text, %MANY% five million
// objects, and %DEEP% a hundred thousand lists in one another. It speaks over pipes, or over HTTP, where a line is an
// event. It forgets its sessions when `epoch` changes, which it says by `forgotten`, a status, and `http` has
// { status, headers, body } by method. The line %NEVER% leaves a request without an answer, %CUT% ends the connection,
// %HELPER% also leaves a child behind that holds the pipes, and %DEAF% reads nothing more, and %PROGRESS% reports
// progress for ever. It notes the requests in the file with `.log` at its end.
const [way, file] = process.argv.slice(2);
let number = 0;
const defaults = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'odd', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'greet', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'done' }] }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'logging/setLevel': () => ({}),
  ping: () => ({}),
};
const FATES = ['%NEVER%', '%CUT%', '%HELPER%', '%DEAF%', '%PROGRESS%'];

/** Returns what the file says, once it is written whole. */
function state() {
  for (;;)
    try {
      return JSON.parse(readFileSync(file, 'utf8'));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
}

function fateOf(method) {
  return state()[method]?.find((line) => FATES.includes(line));
}

function note({ method, params = {} }) {
  appendFileSync(`${file}.log`, `${JSON.stringify([method, params.uri ?? params.level ?? params.name ?? null])}\n`);
}

function withLargeParts(line) {
  return line
    .replace('%BIG%', () => 'x'.repeat(17_000_000))
    .replace('%SIZE%', () => 'x'.repeat(8_000_000))
    .replace('"%MANY%"', () => `[${'{},'.repeat(4_999_999)}{}]`)
    .replace('"%DEEP%"', () => `${'['.repeat(100_000)}${']'.repeat(100_000)}`);
}

function linesFor({ id, method, params }) {
  const lines = state()[method];
  const fill = (line) => line.replaceAll('%ID%', JSON.stringify(id)).replaceAll('%N%', String((number += 1)));
  if (lines !== undefined) return lines.map(fill).map(withLargeParts);
  const result = defaults[method]?.(params);
  const error = { code: -32_601, message: 'No such method.' };
  return [JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) })];
}

function say(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

if (way === 'stdio')
  for await (const line of createInterface({ input: process.stdin })) {
    const message = JSON.parse(line);
    if (message.id === undefined || message.method === undefined) continue;
    note(message);
    const fate = fateOf(message.method);
    if (fate === '%NEVER%') continue;
    if (fate === '%PROGRESS%') {
      const { progressToken } = message.params._meta;
      setInterval(
        () => say({ method: 'notifications/progress', params: { progressToken, progress: (number += 1) } }),
        100,
      );
      continue;
    }
    if (fate === '%HELPER%') spawn('sleep', ['30'], { stdio: ['inherit', 'inherit', 'ignore'] });
    if (fate === '%DEAF%') {
      process.stdin.destroy();
      closeSync(0);
      setInterval(() => undefined, 1_000);
      break;
    }
    if (fate !== undefined) process.exit(1);
    for (const answer of linesFor(message)) process.stdout.write(`${answer}\n`);
  }
else {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    if (body === '') return response.writeHead(405).end();
    const message = JSON.parse(body);
    if (message.id === undefined || message.method === undefined) return response.writeHead(202).end();
    // A session is forgotten once the file names another epoch.
    note(message);
    const { epoch = 'first', forgotten = 404, http = {} } = state();
    const { status, headers, body: answer } = http[message.method] ?? {};
    if (status !== undefined) return response.writeHead(status, headers).end(answer);
    const session = request.headers['mcp-session-id'] ?? epoch;
    if (session !== epoch) return response.writeHead(forgotten).end('There is no such session.');
    const fate = fateOf(message.method);
    if (fate === '%NEVER%') return undefined;
    if (fate !== undefined) return response.destroy();
    response.setHeader('Mcp-Session-Id', session);
    const lines = linesFor(message);
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.end(lines.map((line) => `data: ${line}\n\n`).join(''));
  });
  server.listen(0, '127.0.0.1', () => process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`));
}
