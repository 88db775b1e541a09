import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeOnSqlite } from '../../support/database/database-kind';
import { run } from '../../support/processes/shell';
import { buildCommandLine } from '../command-line';
import { GOV } from '../mcp/mcp-clients';

describeOnSqlite('Secrets of tools that gov hook claude-code asks about', () => {
  it('are neither kept by the service nor between two hooks, and large texts are hashed', async () => {
    await buildCommandLine();
    const app = await createTestApp();
    const folder = mkdtempSync(join(tmpdir(), 'gov-hook-secrets-'));
    const { id: agentId } = await createAgent(app, { name: 'coder', capabilities: ['*'] });
    const { secret } = await issueKey(app, { name: 'coder', scopes: ['execute'], agentId });
    await createPolicy(app);
    const map = join(folder, 'map.json');
    writeFileSync(map, JSON.stringify({ tools: { Fetch: { secret: ['/headers/X-Pin'] } } }));
    const hook = async (name: string, members: object = {}): Promise<void> => {
      const input = { headers: { 'X-Pin': 'pin-of-hook', Cookie: 'cookie-of-hook' }, body: 'z'.repeat(70_000) };
      const event = { session_id: 's', hook_event_name: name, tool_name: 'Fetch', tool_input: input, ...members };
      const { exitCode, errors } = await run(process.execPath, [GOV, 'hook', 'claude-code', '--map', map], {
        environment: { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret, XDG_STATE_HOME: folder },
        input: JSON.stringify(event),
      });
      expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
    };
    await hook('PreToolUse');
    const [execution] = (await send(app, 'GET', '/api/v1/executions')).body.data;
    const sealed = { $secret: expect.any(String) };
    expect(execution.parameters).toEqual({
      headers: { 'X-Pin': sealed, Cookie: sealed },
      body: { $hmac: expect.any(String), bytes: 70_000 },
    });
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'));
    expect(texts).toHaveLength(2);
    for (const text of texts) expect(text).not.toMatch(/of-hook|zzz/);
    await hook('PostToolUse', { tool_response: { token: 'token-of-hook', status: 200 } });
    const reported = (await send(app, 'GET', `/api/v1/executions/${execution.id}`)).body;
    expect(reported).toMatchObject({ outcome: 'executed', result: { token: sealed, status: 200 } });
    rmSync(folder, { recursive: true });
    await app.close();
  });
});
