import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

// What `gov mcp` adds to an allowed call, on loopback, after `npm run build` and `npm run gov -- --version`. The calls take turns with
// direct ones and with the two requests to the service by themselves, so that a busy machine slows all of them down alike.
// Usage: node test/clients/mcp/overhead.mjs [calls]
const calls = Number(process.argv[2] ?? 300);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const cli = join(root, 'clients', 'cli');
const require = createRequire(join(cli, 'package.json'));
const { createTestApp } = require(join(root, 'dist', 'testing', 'testing.js'));
const { Client } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const folder = mkdtempSync(join(tmpdir(), 'mcp-overhead-'));
const server = [join(root, 'test', 'clients', 'mcp', 'tool-server.mjs'), cli, join(folder, 'runs'), 'stdio', 'legacy'];

const WARM_UP = 100;
/** Clock ticks a second in /proc. */
const TICKS = 100;

async function connected(args, environment) {
  const client = new Client({ name: 'overhead', version: '1' });
  const env = { ...process.env, ...environment };
  const transport = new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' });
  await client.connect(transport);
  const call = async (number) => {
    const { isError, content } = await client.callTool({ name: 'echo', arguments: { call: number } });
    if (isError) throw new Error(JSON.stringify(content));
  };
  return { call, pid: transport.pid, close: () => client.close() };
}

/** Milliseconds of processor time that a process has had; null where the system does not tell. */
function processorTime(pid) {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return null;
  const [user = 0, system = 0] = readFileSync(path, 'utf8').split(') ')[1].split(' ').slice(11, 13).map(Number);
  return ((user + system) * 1_000) / TICKS;
}

const app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
const { body: agent } = await app.send('POST', '/api/v1/agents', { body: { name: 'seller', capabilities: ['echo'] } });
const everything = { subjects: ['*'], actions: ['echo'], resources: ['*'] };
await app.send('POST', '/api/v1/policies', { body: { name: 'echo', version: '1', effect: 'allow', ...everything } });
const key = { name: 'seller', scopes: ['execute'], agentId: agent.id };
const { body: issued } = await app.send('POST', '/api/v1/api-keys', { body: key });

async function post(path, body) {
  const headers = { Authorization: `Bearer ${issued.secret}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${app.url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

async function askAndReport(call) {
  const request = { action: 'echo', resourceType: 'tool', resourceId: 'shop/echo', parameters: { call } };
  const { id } = await post(`agents/${agent.id}/execute`, request);
  await post(`executions/${id}/result`, { outcome: 'executed', result: { content: [] } });
}

const gov = join(cli, 'dist', 'cli', 'src', 'main.js');
const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: issued.secret };
const direct = await connected(server, {});
const governed = await connected([gov, 'mcp', '--', process.execPath, ...server], environment);
const kinds = { direct: direct.call, requests: askAndReport, governed: governed.call };
const took = { direct: [], requests: [], governed: [], overhead: [] };
let before = null;
for (let call = -WARM_UP; call < calls; call += 1) {
  if (call === 0) before = processorTime(governed.pid);
  const one = {};
  for (const [name, run] of Object.entries(kinds)) {
    const start = performance.now();
    await run(call);
    one[name] = performance.now() - start;
  }
  if (call < 0) continue;
  for (const [name, milliseconds] of Object.entries(one)) took[name].push(milliseconds);
  took.overhead.push(one.governed - one.direct);
}
const after = processorTime(governed.pid);
for (const [share, name] of [
  [0.5, 'median'],
  [0.1, 'least tenth'],
]) {
  const values = Object.entries(took).map(([kind, all]) => {
    const sorted = [...all].sort((left, right) => left - right);
    return `${kind} ${sorted[Math.floor(calls * share)].toFixed(2)} ms`;
  });
  console.log(`${name}: ${values.join(', ')}`);
}
if (before !== null && after !== null) {
  console.log(`processor time of gov mcp: ${((after - before) / calls).toFixed(2)} ms a call`);
}
await direct.close();
await governed.close();
await app.close();
rmSync(folder, { recursive: true });
