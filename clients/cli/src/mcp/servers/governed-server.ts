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
  SdkError,
  SdkErrorCode,
  specTypeSchemas,
  type StandardSchemaV1,
  type Resource,
  type ResourceTemplateType,
  type ResultTypeMap,
  type ServerCapabilities,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import type { ServerContext } from '@modelcontextprotocol/server';
import { AnsweringTransport, type HttpTarget } from './answering-transport.js';
import { plain, printError } from '../../output.js';
import { VERSION } from '../../version.js';
import { resultOnly } from '../tool-results.js';
import type { Arguments, ItemName } from '../mapping.js';
import { traceMeta } from '../trace-of-call.js';
import { ChildProcessTransport } from './child-process-transport.js';
import { isLostAnswer, LARGEST_MESSAGE } from './messages.js';
import { beforeAbort, isSessionForgotten } from './session-faults.js';
import { type LogLevel, SessionSettings, setLogLevel } from './session-settings.js';
import { mayHaveRun, UnknownOutcomeError } from './unknown-outcome.js';

/** Where a governed server is. */
export type Target =
  { readonly command: readonly string[]; readonly env?: Readonly<Record<string, string>> } | HttpTarget;

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
/** Milliseconds of a call without an answer or progress: the client of the proxy decides how long it waits below that. */
const MAX_CALL_MS = 3_600_000;
/** Milliseconds for all pages of a list. */
const MAX_LIST_MS = 60_000;
/** Items of a list, its pages, and the characters of its items as JSON: a server may invent them for ever. */
const MAX_LISTED = 10_000;
const MAX_PAGES = 1_000;
const MAX_LISTED_SIZE = LARGEST_MESSAGE;
/** Characters of a name in a warning. */
const MAX_WARNED_NAME = 100;
const LISTS = {
  tools: { method: 'tools/list', schema: specTypeSchemas.Tool, id: 'name' },
  prompts: { method: 'prompts/list', schema: specTypeSchemas.Prompt, id: 'name' },
  resources: { method: 'resources/list', schema: specTypeSchemas.Resource, id: 'uri' },
  resourceTemplates: {
    method: 'resources/templates/list',
    schema: specTypeSchemas.ResourceTemplate,
    id: 'uriTemplate',
  },
} as const;
/** Takes a page as it is: its items are checked one by one. */
const ANY_PAGE: StandardSchemaV1<unknown, Readonly<Record<string, unknown>>> = {
  '~standard': {
    version: 1,
    vendor: 'gov',
    validate: (value) => ({ value: Object(value) as Record<string, unknown> }),
  },
};
/** Lines about what a server lists. */
const MAX_WARNINGS = 100;
const SECRET = 'GOVERNANCE_';

/** The connection to a governed server for one session, in the protocol that it speaks. It is made when it is needed. */
export class GovernedServer {
  private definitions: ReadonlyMap<string, Tool> = new Map();
  private readonly settings = new SessionSettings();
  private readonly warned = new Set<string>();
  /** What each connection carries: one that was given up is closed with the last of it. */
  private readonly carried = new Map<Client, ServerContext[]>();
  private connection: Promise<Client> | null = null;
  private opening: Transport | null = null;
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

  /**
   * All pages of a list; empty where the server does not have such things. An item that is not valid, or has the name of another, is
   * left out, and so is what follows if the list does not end: stderr says so.
   */
  list<List extends keyof Listed>(list: List): Promise<Listed[List][]> {
    return this.ask((client) => this.listFrom(client, list));
  }

  private async listFrom<List extends keyof Listed>(client: Client, list: List): Promise<Listed[List][]> {
    const kind: Kind = list === 'tools' || list === 'prompts' ? list : 'resources';
    if (client.getServerCapabilities()?.[kind] === undefined) return [];
    const { method, schema, id } = LISTS[list];
    const items = new Map<unknown, Listed[List]>();
    const cursors = new Set<string>();
    const signal = AbortSignal.timeout(MAX_LIST_MS);
    let size = 0;
    for (let cursor: string | undefined; ;) {
      const params = cursor === undefined ? {} : { cursor };
      const page = await client.request({ method, params }, ANY_PAGE, { signal });
      const [listed, next] = [page[list], page['nextCursor']];
      if (!Array.isArray(listed)) throw new Error(`Expected a list of ${list}.`);
      for (const item of listed as readonly unknown[]) {
        const checked = schema['~standard'].validate(item);
        const name = (Object(item) as Record<string, unknown>)[id];
        if (checked.issues !== undefined || items.has(name))
          this.warn(`${warnedName(name)} is left out of ${list}: it is not valid, or is listed twice.`);
        else {
          size += JSON.stringify(checked.value).length;
          if (size > MAX_LISTED_SIZE) break;
          items.set(name, checked.value as Listed[List]);
        }
        if (items.size > MAX_LISTED) break;
      }
      const isEnd = next === undefined || next === null;
      const isCursor = typeof next === 'string' && !cursors.has(next) && cursors.size < MAX_PAGES;
      const isOver = items.size > MAX_LISTED || size > MAX_LISTED_SIZE;
      if (isOver || !(isEnd || isCursor)) {
        this.warn(
          `its ${list} do not end, or are too large: only the first ${Math.min(items.size, MAX_LISTED)} are taken.`,
        );
        break;
      }
      if (isEnd) break;
      cursors.add(next);
      cursor = next;
    }
    const all = [...items.values()].slice(0, MAX_LISTED);
    if (list === 'tools')
      this.definitions = new Map((all as Tool[]).map((tool) => [tool.name, withoutOutputSchema(tool)]));
    return all;
  }

  /** Once for each text. */
  private warn(text: string): void {
    if (this.warned.has(text) || this.warned.size >= MAX_WARNINGS) return;
    this.warned.add(text);
    printError(plain(`The MCP server ${this.name}: ${text}`));
  }

  /** @throws UnknownOutcomeError if the call was sent and no answer came. */
  callTool({ name, shown }: ItemName, given: Arguments | undefined, passing: Passing): Promise<CallToolResult> {
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
    passing: Passing,
    send: (client: Client, options: RequestOptions) => Promise<Result>,
    isRepeated = false,
  ): Promise<Result> {
    const { signal, onProgress, context } = passing;
    const client = await beforeAbort(this.client(), signal);
    const carried = this.carried.get(client) ?? [];
    this.carried.set(client, carried);
    carried.push(context);
    try {
      const options = { signal, timeout: MAX_CALL_MS, resetTimeoutOnProgress: true };
      return await send(client, { ...options, ...(onProgress && { onprogress: onProgress }) });
    } catch (error) {
      if (this.ended.has(client)) throw new UnknownOutcomeError(what, new Error('it ended'));
      if (signal.aborted) throw error;
      const isAnswer = error instanceof ProtocolError && !isLostAnswer(error);
      // Then the server has done nothing.
      const hasNoSession = !isRepeated && (await isSessionForgotten(client, error));
      if (!isAnswer && 'url' in this.target) await this.giveUp(client);
      if (hasNoSession) return await this.passed(what, passing, send, true);
      throw mayHaveRun(error) ? new UnknownOutcomeError(what, error) : error;
    } finally {
      carried.splice(carried.indexOf(context), 1);
      void this.closeUnused(client);
    }
  }

  /** @throws UnknownOutcomeError if the request was sent and no answer came. */
  async subscribe(uri: string, passing: Passing): Promise<object> {
    const result = await this.passed(`resources/subscribe of ${uri}`, passing, (client, options) =>
      client.subscribeResource({ uri, ...traceMeta() }, options),
    );
    this.settings.addSubscription(uri);
    return resultOnly(result);
  }

  async unsubscribe(uri: string): Promise<void> {
    this.settings.removeSubscription(uri);
    await this.ask((client) => client.unsubscribeResource({ uri }));
  }

  /** A server without a log is told nothing. A connection that is made later is told as well. */
  async setLogLevel(level: LogLevel): Promise<void> {
    this.settings.setLevel(level);
    await this.ask(
      async (client) => client.getServerCapabilities()?.logging !== undefined && setLogLevel(client, level),
    );
  }

  /** What needs no permission, such as a notification. */
  async say(send: (client: Client) => Promise<unknown>): Promise<void> {
    await this.ask(send);
  }

  /** Asks for what changes nothing: once more over a new connection if this one fails, as a server may have forgotten its session. */
  private async ask<Result>(send: (client: Client) => Promise<Result>): Promise<Result> {
    const client = await this.client();
    try {
      return await send(client);
    } catch (error) {
      const isAnswer = error instanceof ProtocolError && !isLostAnswer(error);
      const isLate = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
      if (isAnswer || isLate || !('url' in this.target)) return refuse(error);
      await this.giveUp(client);
      void this.closeUnused(client);
      return await send(await this.client()).catch(refuse);
    }
  }

  async close(): Promise<void> {
    this.isClosing = true;
    // A server may still owe the answer to its handshake.
    await this.opening?.close();
    await (await this.connection?.catch(() => null))?.close();
  }

  /** The next call makes a connection of its own. */
  private async giveUp(client: Client): Promise<void> {
    if ((await this.connection?.catch(() => null)) === client) this.connection = null;
  }

  private async closeUnused(client: Client): Promise<void> {
    if ((this.carried.get(client)?.length ?? 0) > 0) return;
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
    const transport = this.transport();
    this.opening = transport;
    await client.connect(transport).finally(() => (this.opening = null));
    client.onclose = () => {
      void this.giveUp(client);
      if (this.isClosing || 'url' in this.target) return;
      this.ended.add(client);
      this.onEnd();
    };
    // Its requests are sent before any other of this connection.
    void this.settings.restore(client).then((faults) => {
      if (!this.isClosing) faults.forEach((fault) => this.warn(fault));
    });
    return client;
  }

  private linked(): ClientLink {
    if (this.link !== null) return this.link;
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'No session of a client is behind this connection.');
  }

  private transport(): Transport {
    if ('url' in this.target) return new AnsweringTransport(this.target);
    return new ChildProcessTransport(this.target.command, { ...environment(), ...this.target.env });
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

/** A server may choose names of any length. */
function warnedName(name: unknown): string {
  const text = name === undefined ? 'An item without a name' : JSON.stringify(name);
  return text.length > MAX_WARNED_NAME ? `${text.slice(0, MAX_WARNED_NAME)}…` : text;
}

/** A client would discard what does not fit its schema, such as what a handler of the service returned, and call the tool again. */
function withoutOutputSchema(tool: Tool): Tool {
  const shown = { ...tool };
  delete shown.outputSchema;
  return shown;
}
