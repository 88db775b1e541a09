import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';

// What `gov mcp` adds to an allowed call, on loopback: run it by itself after `npm run build`, with a built command line.
// Usage: node test/clients/mcp/overhead.mjs [calls]
const calls = Number(process.argv[2] ?? 500);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const cli = join(root, 'clients', 'cli');
const require = createRequire(join(cli, 'package.json'));
const { createTestApp } = require(join(root, 'dist', 'testing', 'testing.js'));
const { Client } = require('@modelcontextprotocol/client');
const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');

const folder = mkdtempSync(join(tmpdir(), 'mcp-overhead-'));
const server = [join(root, 'test', 'clients', 'mcp', 'tool-server.mjs'), cli, join(folder, 'runs'), 'stdio', 'legacy'];

/** What a call takes, in milliseconds, after some that warm up: its median, and the tenth that the machine disturbed least. */
async function measured(args, environment) {
  const client = new Client({ name: 'overhead', version: '1' });
  const env = { ...process.env, ...environment };
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }));
  const took = [];
  for (let call = -100; call < calls; call += 1) {
    const start = performance.now();
    const { isError, content } = await client.callTool({ name: 'echo', arguments: { call } });
    if (isError) throw new Error(JSON.stringify(content));
    if (call >= 0) took.push(performance.now() - start);
  }
  await client.close();
  took.sort((left, right) => left - right);
  return { median: took[Math.floor(calls / 2)], least: took[Math.floor(calls / 10)] };
}

const app = await createTestApp();
const { body: agent } = await app.send('POST', '/api/v1/agents', { body: { name: 'seller', capabilities: ['echo'] } });
const everything = { subjects: ['*'], actions: ['echo'], resources: ['*'] };
await app.send('POST', '/api/v1/policies', { body: { name: 'echo', version: '1', effect: 'allow', ...everything } });
const key = { name: 'seller', scopes: ['execute'], agentId: agent.id };
const { body: issued } = await app.send('POST', '/api/v1/api-keys', { body: key });

const direct = await measured(server, {});
const gov = join(cli, 'dist', 'cli', 'src', 'main.js');
const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: issued.secret };
const governed = await measured([gov, 'mcp', '--', process.execPath, ...server], environment);
for (const name of ['median', 'least']) {
  const [without, through] = [direct[name], governed[name]];
  const overhead = (through - without).toFixed(2);
  console.log(
    `${name}: direct ${without.toFixed(2)} ms, through gov mcp ${through.toFixed(2)} ms, overhead ${overhead} ms`,
  );
}
await app.close();
rmSync(folder, { recursive: true });
