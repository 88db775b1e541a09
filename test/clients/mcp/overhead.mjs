import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

// What `gov mcp` adds to an allowed call, on loopback, after `npm run build` and `npm run gov -- --version`. The calls
// take turns with
// direct ones and with the two requests to the service by themselves, so that a busy machine slows all of them down
// alike. The
// service is a process of its own, on a file, as it is in use.
// Usage: node test/clients/mcp/overhead.mjs [calls]
const calls = Number(process.argv[2] ?? 300);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const cli = join(root, 'clients', 'cli');
const require = createRequire(join(cli, 'package.json'));
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

/** Milliseconds of processor time that a process has used; null if the system does not report it. */
function processorTime(pid) {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return null;
  const [user = 0, system = 0] = readFileSync(path, 'utf8').split(') ')[1].split(' ').slice(11, 13).map(Number);
  return ((user + system) * 1_000) / TICKS;
}

/** Starts the built service on its own file, and waits until it listens. */
async function startService() {
  const own = { HOST: '127.0.0.1', PORT: '0', API_KEY: 'the-operator-of-this-measurement', RATE_LIMIT: '10000000' };
  const env = {
    PATH: process.env.PATH,
    ...own,
    DATABASE_URL: `sqlite:${join(folder, 'service.db')}`,
    LOG_LEVEL: 'warn',
  };
  const program = spawn(process.execPath, [join(root, 'dist', 'main.js')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise((resolve, reject) => {
    let printed = '';
    program.once('close', () => reject(new Error(`The service ended: ${printed}`)));
    program.stdout.on('data', (part) => {
      printed += part;
      const address = /^ *API {2,}(http\S+)\/api\/v1$/m.exec(printed)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
  return { program, url, key: own.API_KEY };
}

const service = await startService();

async function post(path, body, key = service.key) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${service.url}/api/v1/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

const agent = await post('agents', { name: 'seller', capabilities: ['echo'] });
const everything = { subjects: ['*'], actions: ['echo'], resources: ['*'] };
await post('policies', { name: 'echo', version: '1', effect: 'allow', ...everything });
const { secret } = await post('api-keys', { name: 'seller', scopes: ['execute'], agentId: agent.id });

async function askAndReport(call) {
  const request = { action: 'echo', resourceType: 'tool', resourceId: 'shop/echo', parameters: { call } };
  const { id } = await post(`agents/${agent.id}/execute`, request, secret);
  await post(`executions/${id}/result`, { outcome: 'executed', result: { content: [] } }, secret);
}

const gov = join(cli, 'dist', 'cli', 'src', 'main.js');
const environment = { GOVERNANCE_URL: service.url, GOVERNANCE_API_KEY: secret };
const direct = await connected(server, {});
const governed = await connected([gov, 'mcp', '--', process.execPath, ...server], environment);
const kinds = { direct: direct.call, requests: askAndReport, governed: governed.call };
const took = { direct: [], requests: [], governed: [], overhead: [] };
/** The processes whose processor time counts. */
const pids = { service: service.program.pid, 'gov mcp': governed.pid };
const processorTimes = () => Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, processorTime(pid)]));
let before = processorTimes();
for (let call = -WARM_UP; call < calls; call += 1) {
  if (call === 0) before = processorTimes();
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
const after = processorTimes();
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
for (const name of Object.keys(pids)) {
  if (after[name] === null) continue;
  console.log(`processor time of ${name}: ${((after[name] - before[name]) / calls).toFixed(2)} ms a turn`);
}
await direct.close();
await governed.close();
const stopped = new Promise((resolve) => service.program.once('close', resolve));
service.program.kill();
await stopped;
rmSync(folder, { recursive: true });
