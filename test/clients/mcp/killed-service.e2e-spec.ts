import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXECUTIONS } from '../../approvals/support';
import { describeOnSqlite } from '../../support/database/database-kind';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import { ROOT } from '../../support/documents/markdown';
import { startProgram, type StartedProgram } from '../../support/processes/started-program';
import { openTcpGate, type TcpGate } from '../../support/application/tcp-gate';
import { buildCommandLine } from '../command-line';
import { connectThroughProxy, type Connection, textOf, type ToolResult } from './mcp-clients';

const PROGRAM = join(ROOT, 'dist', 'main.js');

/** The service is killed while a tool runs, and is still down when the tool ends. */
describeOnSqlite('gov mcp, when the service is killed between its permission and the report', () => {
  let folder: string;
  let gate: TcpGate;
  let program: StartedProgram;
  let connection: Connection;
  let runs: string;

  beforeAll(async () => {
    await buildCommandLine();
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-mcp-killed-'));
    runs = join(folder, 'runs');
    gate = await openTcpGate('127.0.0.1', 1);
    program = await start('governance.db');
    const { id } = await createAgent(program, { name: 'bot', capabilities: ['held'] });
    await createPolicy(program, { actions: ['held'], resources: ['tool/shop/*'], resourceTypes: ['tool'] });
    const { secret } = await issueKey(program, { name: 'bot', scopes: ['execute'], agentId: id });
    const environment = { GOVERNANCE_URL: `http://127.0.0.1:${gate.port}`, GOVERNANCE_API_KEY: secret };
    connection = await connectThroughProxy({ way: 'stdio', era: 'legacy', runs, environment });
  });
  afterEach(async () => {
    await connection.close();
    await program.stop();
    await gate.close();
    rmSync(folder, { recursive: true });
  });

  async function start(database: string): Promise<StartedProgram> {
    const started = await startProgram(PROGRAM, { DATABASE_URL: `sqlite:${join(folder, database)}` });
    gate.aim(Number(new URL(started.url).port));
    return started;
  }

  /** Calls the tool, kills the service while it runs, and starts it with this database once the tool has ended. */
  async function callWhileKilled(database: string): Promise<ToolResult> {
    const calling = connection.client.callTool({ name: 'held', arguments: { n: 1 } });
    while (!existsSync(runs)) await sleep(20);
    await program.stop('SIGKILL');
    writeFileSync(`${runs}.go`, '');
    await sleep(300);
    program = await start(database);
    return calling;
  }

  it('finally reports the tool, which ran once', async () => {
    const result = await callWhileKilled('governance.db');
    expect(result).not.toHaveProperty('isError');
    expect(textOf(result)).toBe('{"n":1}');
    expect(readFileSync(runs, 'utf8')).toBe('["held",{"n":1}]\n');
    const { body } = await program.send('GET', EXECUTIONS);
    expect(body.data).toEqual([expect.objectContaining({ outcome: 'executed', parameters: { n: 1 } })]);
  });

  it('says so next to the result if the restarted service does not know the execution', async () => {
    const result = await callWhileKilled('another.db');
    expect(textOf(result)).toMatch(/^\{"n":1\}\nThe action was carried out, .* Do not repeat the action\.$/);
    expect(readFileSync(runs, 'utf8')).toBe('["held",{"n":1}]\n');
  });
});
