import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { readDocument } from '../../support/documents/markdown';
import { run } from '../../support/processes/shell';
import { buildCommandLine } from '../command-line';
import { GOV } from './mcp-clients';
import { reportKeyOf } from './shop';
import { CONFORMANCE, ended, saying, startEverything } from './real-servers';

/** Scenarios that need no tools of their own in the server. */
const SCENARIOS = [
  ...['server-initialize', 'ping', 'logging-set-level', 'tools-list', 'resources-list', 'resources-subscribe'],
  ...['resources-unsubscribe', 'prompts-list', 'server-sse-multiple-streams', 'dns-rebinding-protection'],
  'completion-complete',
];

const AT_ONCE = 4;

describeOnSqlite('The conformance tests of the protocol, through the gateway', () => {
  let app: TestApp;
  let folder: string;
  let gateway: ChildProcess;
  let server: Awaited<ReturnType<typeof startEverything>>;
  let door: Server;
  let url: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-conformance-'));
    const { id } = await createAgent(app, { name: 'bot', capabilities: ['echo', 'read', 'get-prompt'] });
    const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId: id });
    await createPolicy(app, { actions: ['*'], resources: ['*'] });
    server = await startEverything();
    const file = join(folder, 'gateway.json');
    const upstreams = { every: { mcp: server.url } };
    writeFileSync(file, JSON.stringify({ listen: '127.0.0.1:0', service: app.url, journal: './journal', upstreams }));
    const env = { ...process.env, GOVERNANCE_API_KEY: await reportKeyOf(app) };
    gateway = spawn(process.execPath, [GOV, 'gateway', file], { env });
    door = await addKey(await saying(gateway, /Listening on (http[^"]+)/), secret);
    url = `http://127.0.0.1:${(door.address() as AddressInfo).port}/every/mcp`;
  });
  afterAll(async () => {
    door.close();
    door.closeAllConnections();
    await ended(gateway);
    await server.close();
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it('pass, and are refused, as docs/integrations.md says', async () => {
    const rows = { pass: [] as string[], refused: [] as string[] };
    const codes: (number | null)[] = [];
    // An owner has ten sessions: of all at once, some would end for others.
    for (let start = 0; start < SCENARIOS.length; start += AT_ONCE) {
      const some = SCENARIOS.slice(start, start + AT_ONCE).map(async (name) => {
        const words = [CONFORMANCE, 'server', '--url', url, '--scenario', name];
        return (await run(process.execPath, words, { environment: {}, folder })).exitCode;
      });
      codes.push(...(await Promise.all(some)));
    }
    SCENARIOS.forEach((name, index) => rows[codes[index] === 0 ? 'pass' : 'refused'].push(`\`${name}\``));
    for (const [what, names] of Object.entries(rows))
      expect(readDocument('docs/integrations.md')).toContain(`| ${names.join(', ')} | ${what} |`);
  });
});

/** Adds the agent's key to requests: the conformance tests send none. */
async function addKey(gateway: string, key: string): Promise<Server> {
  const server = createServer((request, response) => {
    const { method, url } = request;
    const headers = { ...request.headers, authorization: `Bearer ${key}` };
    const passed = forward(`${gateway}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
