import { Injectable, Module } from '@nestjs/common';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ActionFailure, ActionHandler } from '../../../src/governance/executions/handlers/action-handlers';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { describeOnSqlite } from '../../support/database/database-kind';
import { buildCommandLine, gov } from '../command-line';
import { connectThroughProxy, textOf } from '../mcp/mcp-clients';

/** It could pass for the result of a tool. */
const LIST = { id: 7, content: ['a'] };

@Injectable()
class Handlers {
  @ActionHandler('list')
  list(): unknown {
    return LIST;
  }

  @ActionHandler('nothing')
  nothing(): void {
    // Only that it was carried out counts.
  }

  @ActionHandler('break')
  break(): never {
    throw new ActionFailure('The "mailbox" is full.');
  }
}

@Module({ providers: [Handlers] })
class HandlersModule {}

describeOnSqlite('Tools that a handler of the service carries out', () => {
  let app: TestApp;
  let folder: string;
  let environment: NodeJS.ProcessEnv;

  beforeAll(async () => {
    await buildCommandLine();
    app = await createTestApp({ modules: [HandlersModule] });
    folder = mkdtempSync(join(tmpdir(), 'gov-handlers-'));
    const { id } = await createAgent(app, { name: 'bot', capabilities: ['list', 'nothing', 'break'] });
    await createPolicy(app, {
      actions: ['*'],
      resources: ['tool/shop/*', 'tool/claude-code/*'],
      resourceTypes: ['tool'],
    });
    const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId: id });
    environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret, XDG_STATE_HOME: folder };
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  it.each([
    ['list', JSON.stringify(LIST)],
    ['nothing', 'null'],
  ])(
    'answers a client of gov mcp with what it returned, as JSON, whatever the tool promises: %s',
    async (name, text) => {
      const runs = join(folder, 'runs');
      const options = { way: 'stdio', era: 'legacy', runs, environment, tools: ['list', 'nothing', 'break'] } as const;
      const { client, close } = await connectThroughProxy(options);
      try {
        expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(options.tools);
        const result = await client.callTool({ name });
        expect(result).toEqual({ content: [{ type: 'text', text }] });
        expect(textOf(await client.callTool({ name: 'break' }))).toContain('The "mailbox" is full.');
        expect(existsSync(runs)).toBe(false);
      } finally {
        await close();
      }
    },
  );

  it.each([
    ['list', `it is executed. Do not run it. Its result: ${JSON.stringify(LIST)}`],
    ['nothing', 'it is executed. Do not run it. Its result: null'],
    ['break', 'it is failed. Do not run it. The reason: "The \\"mailbox\\" is full."'],
  ])('tells Claude Code what came of it: %s', async (tool, expected) => {
    const event = {
      session_id: 'one',
      hook_event_name: 'PreToolUse',
      tool_name: tool,
      tool_input: {},
      tool_use_id: tool,
    };
    const { output } = await gov(['hook', 'claude-code'], { environment, input: JSON.stringify(event) });
    const { permissionDecision, permissionDecisionReason } = JSON.parse(output).hookSpecificOutput;
    expect(permissionDecision).toBe('deny');
    expect(permissionDecisionReason).toBe(`The governance service handles ${tool} itself; ${expected}`);
  });
});
