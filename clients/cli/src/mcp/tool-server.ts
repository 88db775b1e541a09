import {
  type CallToolResult,
  Client,
  type ListToolsResult,
  type Progress,
  ProtocolError,
  ProtocolErrorCode,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { SettingsError } from '../settings.js';
import { AnsweringTransport, isLostAnswer } from './answering-transport.js';
import { resultOnly } from './answers.js';
import type { ToolCall } from './governed-call.js';
import { isPlainName } from './mapping.js';
import { mayHaveRun, UnknownOutcomeError } from './unknown-outcome.js';

/** Where the governed server is. */
export type Target = { readonly command: readonly string[] } | { readonly url: URL; readonly headers: HeadersInit };

const IDENTITY = { name: 'gov', version: '0.1.0' };
const MODERN = '2026-07-28';
const UNSUPPORTED_VERSION: number = ProtocolErrorCode.UnsupportedProtocolVersion;
/** Milliseconds: the client of the proxy decides how long a call may take, so this is the longest timer. */
const NO_TIMEOUT = 2 ** 31 - 1;
/** Bytes. A larger message ends the connection, and with it all calls. */
const LARGEST_MESSAGE = 256 * 2 ** 20;
/** Variables that the server must not see: with them it could act as its own agent, or approve its own calls. */
const SECRET = 'GOVERNANCE_';

/** The connection to the governed server, in the protocol that it speaks. */
export class ToolServer {
  private readonly definitions = new Map<string, Tool>();
  /** How many calls each connection carries: one that was given up is closed with the last of them. */
  private readonly calls = new Map<Client, number>();
  private connection: Promise<Client> | null = null;
  private isClosing = false;
  /** Whether a server that is a child process has ended by itself: that ends its calls, whoever else gives them up then. */
  private hasEnded = false;
  /** Called when the server reports that its tools have changed. */
  onToolsChanged: () => void = () => undefined;
  /** Resolves when a server that is a child process has ended by itself. */
  readonly ended: Promise<void>;
  private reportEnd: () => void = () => undefined;

  constructor(private readonly target: Target) {
    this.ended = new Promise((resolve) => (this.reportEnd = resolve));
  }

  /** Its own name. @throws SettingsError if that cannot be part of a resource id. */
  async name(): Promise<string> {
    const name = (await this.client()).getServerVersion()?.name ?? '';
    if (isPlainName(name)) return name;
    throw new SettingsError(`The server calls itself ${JSON.stringify(name)}. Give it a plain name by --name.`);
  }

  async instructions(): Promise<string | undefined> {
    return (await this.client()).getInstructions();
  }

  /** Without their output schemas. */
  async tools(cursor: string | undefined): Promise<ListToolsResult> {
    const client = await this.client();
    const page = await client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } });
    const tools = page.tools.map(withoutOutputSchema);
    for (const tool of tools) this.definitions.set(tool.name, tool);
    return { ...page, tools };
  }

  /** @throws UnknownOutcomeError if the call was sent and no answer came. */
  async call(
    { name, arguments: given }: ToolCall,
    signal: AbortSignal,
    onprogress: ((progress: Progress) => void) | null,
  ): Promise<CallToolResult> {
    const client = await this.client();
    const definition = this.definitions.get(name);
    this.calls.set(client, (this.calls.get(client) ?? 0) + 1);
    try {
      const result = await client.callTool(
        { name, ...(given === undefined ? {} : { arguments: { ...given } }) },
        {
          ...{ signal, timeout: NO_TIMEOUT },
          ...(onprogress === null ? {} : { onprogress }),
          // For the headers of its parameters.
          ...(definition === undefined ? {} : { toolDefinition: definition }),
        },
      );
      return resultOnly(result);
    } catch (error) {
      if (this.hasEnded) throw new UnknownOutcomeError(name, new Error('it ended'));
      if (signal.aborted) throw error;
      const isAnswer = error instanceof ProtocolError && !isLostAnswer(error);
      if (!isAnswer && 'url' in this.target) await this.giveUp(client);
      throw mayHaveRun(error) ? new UnknownOutcomeError(name, error) : error;
    } finally {
      this.calls.set(client, (this.calls.get(client) ?? 1) - 1);
      void this.closeUnused(client);
    }
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await (await this.connection)?.close();
  }

  /** The next call makes a connection of its own. */
  private async giveUp(client: Client): Promise<void> {
    if ((await this.connection?.catch(() => null)) === client) this.connection = null;
  }

  private async closeUnused(client: Client): Promise<void> {
    if (this.calls.get(client) !== 0) return;
    this.calls.delete(client);
    if ((await this.connection?.catch(() => null)) === client) return;
    const { transport } = client;
    if (transport instanceof AnsweringTransport) await transport.terminateSession().catch(() => undefined);
    await client.close().catch(() => undefined);
  }

  private client(): Promise<Client> {
    if (this.hasEnded) throw new Error('The server has ended.');
    this.connection ??= this.connect().catch((error: unknown) => {
      this.connection = null;
      throw error;
    });
    return this.connection;
  }

  private async connect(): Promise<Client> {
    if ('url' in this.target) return this.connected('auto');
    try {
      // With a handshake first: a server of today's kind needs no second process to find out.
      return await this.connected('legacy');
    } catch (error) {
      if (!(error instanceof ProtocolError) || error.code !== UNSUPPORTED_VERSION) throw error;
      return this.connected({ pin: MODERN });
    }
  }

  private async connected(mode: 'auto' | 'legacy' | { pin: string }): Promise<Client> {
    const client = new Client(IDENTITY, {
      versionNegotiation: { mode },
      listChanged: { tools: { autoRefresh: false, onChanged: () => this.onToolsChanged() } },
    });
    await client.connect(this.transport());
    client.onclose = () => {
      void this.giveUp(client);
      if (this.isClosing || 'url' in this.target) return;
      this.hasEnded = true;
      this.reportEnd();
    };
    return client;
  }

  private transport(): Transport {
    if ('url' in this.target) return new AnsweringTransport(this.target.url, this.target.headers);
    const [command = '', ...words] = this.target.command;
    const rest = { env: environment(), stderr: 'inherit' as const, maxBufferSize: LARGEST_MESSAGE };
    return new StdioClientTransport({ command, args: words, ...rest });
  }
}

function environment(): Record<string, string> {
  const entries = Object.entries(process.env).flatMap(([name, value]): [string, string][] =>
    value === undefined || name.startsWith(SECRET) ? [] : [[name, value]],
  );
  return Object.fromEntries(entries);
}

/** A client would discard what does not fit its schema, such as what a handler of the service returned, and call the tool again. */
function withoutOutputSchema(tool: Tool): Tool {
  const shown = { ...tool };
  delete shown.outputSchema;
  return shown;
}
