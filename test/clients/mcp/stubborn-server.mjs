import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

// A server that does not end with its input. One of its tools says something that cannot be read. It notes its process.
const [pids] = process.argv.slice(2);
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const tools = ['garble', 'echo'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const results = {
  initialize: {
    protocolVersion: '2025-11-25',
    serverInfo: { name: 'stubborn', version: '1' },
    capabilities: { tools: {} },
  },
  'tools/list': { tools },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};

appendFileSync(pids, `${process.pid}\n`);
setInterval(() => undefined, 60_000);
process.stdout.on('error', () => undefined);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  if (params?.name === 'garble') process.stdout.write(`${'x'.repeat(17 * 2 ** 20)}\n`);
  else say({ id, result: results[method] ?? {} });
});
