import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { createAgent, createPolicy, issueKey } from '../../support/application/factories';
import type { Parsed } from '../../support/application/send';
import { buildCommandLine } from '../command-line';
import { RawConnection } from './raw-connection';
import { ended } from './real-servers';

export const STRANGER = join(__dirname, 'stranger-server.mjs');
const ACTIONS = ['greet', 'get-prompt', 'read'];
const PRELOAD = `--require ${join(__dirname, 'short-waits.cjs')}`;

type Way = 'stdio' | 'http';

/** Waits of `gov mcp`, in milliseconds, that end after two seconds. */
export function shortWaits(...waits: readonly number[]): NodeJS.ProcessEnv {
  return { NODE_OPTIONS: PRELOAD, SHORT_WAITS: waits.join(','), SHORT_WAIT_MS: '2000' };
}

/** A line that answers the request. */
export function answer(message: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: '%ID%', ...message }).replaceAll('"%ID%"', '%ID%');
}

/** The answer to `initialize` of a server that has all of it. */
export const WITH_EVERYTHING = answer({
  result: {
    protocolVersion: '2025-11-25',
    serverInfo: { name: 'odd', version: '1' },
    capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, logging: {} },
  },
});

/** A service, and the server `odd` beside the server `good`, both of which answer as their files say. */
export class Strangers {
  private programs: ChildProcess[] = [];
  private id = 0;

  private constructor(
    readonly app: TestApp,
    readonly environment: NodeJS.ProcessEnv,
    private readonly folder: string,
  ) {}

  static async open(): Promise<Strangers> {
    await buildCommandLine();
    const app = await createTestApp({ environment: { RATE_LIMIT: '1000000' } });
    const { id: agentId } = await createAgent(app, { name: 'bot', capabilities: ACTIONS });
    const { secret } = await issueKey(app, { name: 'bot', scopes: ['execute'], agentId });
    await createPolicy(app, { actions: ACTIONS, resources: ['odd/*', 'good/*'] });
    const environment = { GOVERNANCE_URL: app.url, GOVERNANCE_API_KEY: secret };
    return new Strangers(app, environment, mkdtempSync(join(tmpdir(), 'gov-mcp-strangers-')));
  }

  async close(): Promise<void> {
    await Promise.all(this.programs.map(ended));
    rmSync(this.folder, { recursive: true });
    await this.app.close();
  }

  /** A connection to both. */
  async connect(way: Way, odd: object, good: object = {}, environment: NodeJS.ProcessEnv = {}): Promise<RawConnection> {
    this.answers('odd', odd);
    this.answers('good', good);
    rmSync(`${this.file('odd')}.log`, { force: true });
    const servers = this.file('servers');
    const mcpServers = { odd: await this.target(way), good: this.program('good') };
    writeFileSync(servers, JSON.stringify({ mcpServers }));
    return RawConnection.open([], { ...this.environment, ...environment }, { words: ['--config', servers] });
  }

  /** A connection to `odd` alone, over pipes. */
  async connectToOne(odd: object, environment: NodeJS.ProcessEnv = {}, capabilities = {}): Promise<RawConnection> {
    this.answers('odd', odd);
    const words = ['--name', 'odd'];
    const server = [STRANGER, 'stdio', this.file('odd')];
    return RawConnection.open(server, { ...this.environment, ...environment }, { words, capabilities });
  }

  answers(server: 'odd' | 'good', lines: object): void {
    writeFileSync(this.file(server), JSON.stringify(lines));
  }

  /** The requests that `odd` has had: method, and what it was about. */
  requests(): [method: string, about: string | null][] {
    const log = `${this.file('odd')}.log`;
    if (!existsSync(log)) return [];
    return readFileSync(log, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  async ask(connection: RawConnection, method: string, params: object = {}): Promise<Parsed> {
    this.id += 1;
    const id = `n${this.id}`;
    connection.send({ id, method, params });
    return connection.until((message) => message.id === id && message.method === undefined);
  }

  async call(connection: RawConnection, name: string): Promise<string> {
    const { result } = await this.ask(connection, 'tools/call', { name, arguments: {} });
    return result.content[0].text;
  }

  async names(connection: RawConnection, list: 'tools' | 'prompts' | 'resources'): Promise<string[]> {
    const { result } = await this.ask(connection, `${list}/list`);
    return result[list].map(({ name }: Parsed) => name);
  }

  private file(name: string): string {
    return join(this.folder, `${name}.json`);
  }

  private program(name: string): object {
    return { command: process.execPath, args: [STRANGER, 'stdio', this.file(name)] };
  }

  private async target(way: Way): Promise<object> {
    if (way === 'stdio') return this.program('odd');
    const program = spawn(process.execPath, [STRANGER, 'http', this.file('odd')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.programs.push(program);
    const [url] = await once(createInterface({ input: program.stdout }), 'line');
    return { url };
  }
}
