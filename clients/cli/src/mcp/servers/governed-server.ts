import {
  type CallToolResult,
  Client,
  type ClientContext,
  type ElicitRequest,
  type ElicitResult,
  type Notification,
  type Progress,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type RequestOptions,
  type Resource,
  type ResourceTemplateType,
  type ResultTypeMap,
  type ServerCapabilities,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { ServerContext } from '@modelcontextprotocol/server';
import { AnsweringTransport, isLostAnswer } from './answering-transport.js';
import { resultOnly } from '../answers.js';
import { LARGEST_MESSAGE } from '../batches.js';
import type { Arguments, Named } from '../mapping.js';
import { traceMeta } from '../trace-of-call.js';
import { VERSION } from '../../version.js';
import { mayHaveRun, UnknownOutcomeError } from './unknown-outcome.js';

/** Where a governed server is. */
export type Target =
  | { readonly command: readonly string[]; readonly env?: Readonly<Record<string, string>> }
  | { readonly url: URL; readonly headers: HeadersInit };

/** What a server lists. */
export interface Listed {
  readonly tools: Tool;
  readonly prompts: Prompt;
  readonly resources: Resource;
  readonly resourceTemplates: ResourceTemplateType;
}

export type Kind = 'tools' | 'prompts' | 'resources';

/** What servers ask of the client of their session, and say to it. */
export interface ClientLink {
  readonly changed: (kind: Kind) => void;
  readonly notified: (server: string, notification: Notification) => void;
  readonly roots: () => Promise<ResultTypeMap['roots/list']>;
  /** @param within the newest call that this server carries out. */
  readonly elicit: (
    server: string,
    params: ElicitRequest['params'],
    within: ServerContext | undefined,
  ) => Promise<ElicitResult>;
}

/** The request of a client that is passed on. */
export interface Passing {
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: Progress) => void) | null;
  readonly context: ServerContext;
}

const IDENTITY = { name: 'gov', version: VERSION };
const MODERN = '2026-07-28';
const UNSUPPORTED_VERSION: number = ProtocolErrorCode.UnsupportedProtocolVersion;
/** Milliseconds: the client of the proxy decides how long a call may take, so this is the longest timer. */
const NO_TIMEOUT = 2 ** 31 - 1;
/** Of a list, and of its pages: a server may invent them for ever. */
const MOST_LISTED = 10_000;
const LISTS = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
} as const;
const SECRET = 'GOVERNANCE_';

/** The connection to a governed server for one session, in the protocol that it speaks. It is made when it is needed. */
export class GovernedServer {
  private readonly definitions = new Map<string, Tool>();
  /** What each connection carries: one that was given up is closed with the last of it. */
  private readonly carried = new Map<Client, ServerContext[]>();
  private connection: Promise<Client> | null = null;
  private isClosing = false;
  /** Connections to child processes that ended by themselves: that ends their calls, whoever else gives them up then. */
  private readonly ended = new WeakSet<Client>();
  link: ClientLink | null = null;
  /** Called when a server that is a child process has ended by itself. */
  onEnd: () => void = () => undefined;

  constructor(
    /** What it is called in resources; empty until it is known. */
    public name: string,
    readonly target: Target,
  ) {}

  async ownName(): Promise<string> {
    return (await this.client()).getServerVersion()?.name ?? '';
  }

  async instructions(): Promise<string | undefined> {
    return (await this.client()).getInstructions();
  }

  async capabilities(): Promise<ServerCapabilities> {
    return (await this.client()).getServerCapabilities() ?? {};
  }

  /** All pages of a list; empty where the server does not have such things. @throws Error where it has no end. */
  async list<List extends keyof Listed>(list: List): Promise<Listed[List][]> {
    const client = await this.client();
    const kind: Kind = list === 'tools' || list === 'prompts' ? list : 'resources';
    if (client.getServerCapabilities()?.[kind] === undefined) return [];
    let items: Listed[List][] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < MOST_LISTED; pages += 1) {
      const request = { method: LISTS[list], params: cursor === undefined ? {} : { cursor } };
      const page = (await client.request(request).catch(refuse)) as unknown as Record<List, Listed[List][]> & {
        nextCursor?: string;
      };
      items = items.concat(page[list]);
      cursor = page.nextCursor;
      if (items.length > MOST_LISTED) break;
      if (cursor !== undefined) continue;
      if (list === 'tools')
        for (const tool of items as Tool[]) this.definitions.set(tool.name, withoutOutputSchema(tool));
      return items;
    }
    throw new Error(`It lists more than ${MOST_LISTED} ${list}.`);
  }

  /** @throws UnknownOutcomeError if the call was sent and no answer came. */
  callTool({ name, shown }: Named, given: Arguments | undefined, passing: Passing): Promise<CallToolResult> {
    const definition = this.definitions.get(name);
    return this.passed(shown, passing, async (client, options) => {
      const call = { name, ...(given === undefined ? {} : { arguments: { ...given } }), ...traceMeta() };
      // For the headers of its parameters.
      const result = await client.callTool(call, { ...options, ...(definition && { toolDefinition: definition }) });
      return resultOnly(result, 'content', 'structuredContent', 'isError');
    });
  }

  /** @throws UnknownOutcomeError if the request was sent and no answer came. */
  async passed<Result>(
    what: string,
    { signal, onProgress, context }: Passing,
    send: (client: Client, options: RequestOptions) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.client();
    const carried = this.carried.get(client) ?? [];
    this.carried.set(client, carried);
    carried.push(context);
    try {
      return await send(client, { signal, timeout: NO_TIMEOUT, ...(onProgress && { onprogress: onProgress }) });
    } catch (error) {
      if (this.ended.has(client)) throw new UnknownOutcomeError(what, new Error('it ended'));
      if (signal.aborted) throw error;
      const isAnswer = error instanceof ProtocolError && !isLostAnswer(error);
      if (!isAnswer && 'url' in this.target) await this.giveUp(client);
      throw mayHaveRun(error) ? new UnknownOutcomeError(what, error) : error;
    } finally {
      carried.splice(carried.indexOf(context), 1);
      void this.closeUnused(client);
    }
  }

  /** What needs no permission, such as the level of its log. */
  async say(send: (client: Client) => Promise<unknown>): Promise<void> {
    await send(await this.client()).catch(refuse);
  }

  async close(): Promise<void> {
    this.isClosing = true;
    await (await this.connection?.catch(() => null))?.close();
  }

  /** The next call makes a connection of its own. */
  private async giveUp(client: Client): Promise<void> {
    if ((await this.connection?.catch(() => null)) === client) this.connection = null;
  }

  private async closeUnused(client: Client): Promise<void> {
    if (this.carried.get(client)?.length !== 0) return;
    this.carried.delete(client);
    if ((await this.connection?.catch(() => null)) === client) return;
    const { transport } = client;
    if (transport instanceof AnsweringTransport) await transport.terminateSession().catch(() => undefined);
    await client.close().catch(() => undefined);
  }

  private client(): Promise<Client> {
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
    const changed = (kind: Kind): { autoRefresh: boolean; onChanged: () => void } => ({
      autoRefresh: false,
      onChanged: () => this.link?.changed(kind),
    });
    const client = new Client(IDENTITY, {
      versionNegotiation: { mode },
      // What the client of the session lacks is refused when a server asks for it: who is served is not known yet.
      capabilities: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } },
      listChanged: { tools: changed('tools'), prompts: changed('prompts'), resources: changed('resources') },
    });
    client.setRequestHandler('roots/list', () => this.linked().roots());
    client.setRequestHandler('elicitation/create', ({ params }: ElicitRequest, _context: ClientContext) =>
      this.linked().elicit(this.name, params, this.carried.get(client)?.at(-1)),
    );
    client.fallbackRequestHandler = ({ method }) => {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `gov mcp does not pass on ${method}: ask without it.`);
    };
    client.fallbackNotificationHandler = async (notification) => this.link?.notified(this.name, notification);
    await client.connect(this.transport());
    client.onclose = () => {
      void this.giveUp(client);
      if (this.isClosing || 'url' in this.target) return;
      this.ended.add(client);
      this.onEnd();
    };
    return client;
  }

  private linked(): ClientLink {
    if (this.link !== null) return this.link;
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'No session of a client is behind this connection.');
  }

  private transport(): Transport {
    if ('url' in this.target) return new AnsweringTransport(this.target.url, this.target.headers);
    const [command = '', ...words] = this.target.command;
    const rest = {
      env: { ...environment(), ...this.target.env },
      stderr: 'inherit' as const,
      maxBufferSize: LARGEST_MESSAGE,
    };
    return new StdioClientTransport({ command, args: words, ...rest });
  }
}

/**
 * Whether no server may see a variable: with it one could act as its own agent, or approve its own calls. On Windows the names of
 * variables are the same in upper and lower case.
 */
export function isSecretName(name: string): boolean {
  return name.toUpperCase().startsWith(SECRET);
}

function environment(): Record<string, string> {
  const entries = Object.entries(process.env).flatMap(([name, value]): [string, string][] =>
    value === undefined || isSecretName(name) ? [] : [[name, value]],
  );
  return Object.fromEntries(entries);
}

/** In the server's words alone: the data of an error can be a question to the user. */
function refuse(error: unknown): never {
  throw error instanceof ProtocolError ? new ProtocolError(error.code, error.message) : error;
}

/** A client would discard what does not fit its schema, such as what a handler of the service returned, and call the tool again. */
function withoutOutputSchema(tool: Tool): Tool {
  const shown = { ...tool };
  delete shown.outputSchema;
  return shown;
}
