import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { describeOnSqlite } from '../../support/database/database-kind';
import { readDocument } from '../../support/documents/markdown';
import { run } from '../../support/processes/shell';
import { buildCommandLine } from '../command-line';
import { GOV } from './mcp-clients';
import { CONFORMANCE, ended, everything, saying } from './real-servers';

/** Those that need no tools of their own in the server. */
const SCENARIOS = [
  ...['server-initialize', 'ping', 'logging-set-level', 'tools-list', 'resources-list', 'resources-subscribe'],
  ...['resources-unsubscribe', 'prompts-list', 'server-sse-multiple-streams', 'dns-rebinding-protection'],
  'completion-complete',
];

describeOnSqlite('The conformance tests of the protocol, through gov mcp', () => {
  let app: TestApp;
  let folder: string;
  let proxy: ChildProcess;
  let url: string;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-conformance-'));
    const { id } = await createAgent(app, { name: 'bot', capabilities: ['echo', 'read', 'get-prompt'] });
    const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId: id });
    await createPolicy(app, { actions: ['*'], resources: ['*'] });
    const config = join(folder, 'servers.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { every: everything } }));
    const env = { ...process.env, GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret };
    proxy = spawn(process.execPath, [GOV, 'mcp', '--config', config, '--listen', '0'], { env });
    url = await saying(proxy, /Listening on (http:\S+\/mcp)\./);
  });
  afterAll(async () => {
    await ended(proxy);
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it('pass, and are refused, as docs/integrations.md says', async () => {
    const rows = { pass: [] as string[], refused: [] as string[] };
    const codes = await Promise.all(
      SCENARIOS.map(async (name) => {
        const words = [CONFORMANCE, 'server', '--url', url, '--scenario', name];
        return (await run(process.execPath, words, { environment: {}, folder })).exitCode;
      }),
    );
    SCENARIOS.forEach((name, index) => rows[codes[index] === 0 ? 'pass' : 'refused'].push(`\`${name}\``));
    for (const [what, names] of Object.entries(rows))
      expect(readDocument('docs/integrations.md')).toContain(`| ${names.join(', ')} | ${what} |`);
  });
});
