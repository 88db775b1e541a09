import {
  type CallToolResult,
  Client,
  type ClientContext,
  type ElicitRequest,
  type ElicitResult,
  type Notification,
  type Progress,
  ProtocolError,
  ProtocolErrorCode,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  type ResultTypeMap,
  type ServerCapabilities,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import type { ServerContext } from '@modelcontextprotocol/server';
import { AnswerMeter, DEFAULT_BOUNDS } from './answer-meter.js';
import { AnsweringTransport, type HttpTarget } from './answering-transport.js';
import { plain, printError } from '../../output.js';
import { VERSION } from '../../version.js';
import { resultOnly } from '../tool-results.js';
import type { Arguments, ItemName } from '../mapping.js';
import { traceMeta } from '../trace-of-call.js';
import { serverEnvironment } from './child-environment.js';
import { ChildProcessTransport, type CommandTarget } from './child-process-transport.js';
import { ANY_PAGE, checkItem, isCursor, type ListedItems, LISTS, warnedName } from './listed-items.js';
import { isLostAnswer } from './messages.js';
import { beforeAbort, forgottenSession, isSessionForgotten } from './session-faults.js';
import { type LogLevel, SessionSettings, setLogLevel } from './session-settings.js';
import { mayHaveRun, NotSentError, refuseUnsent, UnknownOutcomeError } from './unknown-outcome.js';

/** The command or the address of a governed server. */
export type Target = CommandTarget | HttpTarget;

export type Kind = 'tools' | 'prompts' | 'resources';

/** Passes requests and notifications of servers to the client of their session. */
export interface ClientLink {
  readonly onListChange: (kind: Kind) => void;
  readonly onNotification: (server: string, notification: Notification) => void;
  readonly roots: () => Promise<ResultTypeMap['roots/list']>;
  /**
   * @param within the newest call that this server carries out.
   * @param signal fires when nobody needs the answer any longer.
   */
  readonly elicit: (
    server: string,
    params: ElicitRequest['params'],
    within: ServerContext | undefined,
    signal: AbortSignal,
  ) => Promise<ElicitResult>;
}

/** The options of a request that is passed on for a client. */
export interface CallOptions {
  readonly signal: AbortSignal;
  readonly onProgress: ((progress: Progress) => void) | null;
  readonly context: ServerContext;
}

const IDENTITY = { name: 'gov', version: VERSION };
const MODERN = '2026-07-28';
const UNSUPPORTED_VERSION: number = ProtocolErrorCode.UnsupportedProtocolVersion;
/**
 * Maximum time in milliseconds of a call, whatever progress is reported; the client of the proxy may end it earlier.
 */
const MAX_CALL_MS = 3_600_000;
/** Maximum time in milliseconds for all pages of a list. */
const MAX_LIST_MS = 60_000;
/** Items of a list, and its pages: a server may invent them for ever. */
const MAX_LISTED = 10_000;
const MAX_PAGES = 100;
/** Maximum number of characters of a warning, which may quote a server. */
export const MAX_WARNING_LENGTH = 1_000;
/** Maximum number of warnings about the lists of a server. */
const MAX_WARNINGS = 100;

/**
 * The connection to a governed server for one session, in the protocol that it speaks. It is made when it is needed.
 */
export class GovernedServer {
  private definitions: ReadonlyMap<string, Tool> = new Map();
  private readonly settings = new SessionSettings();
  private readonly reportedWarnings = new Set<string>();
  /** The calls of each connection: an abandoned connection is closed with its last call. */
  private readonly activeContexts = new Map<Client, ServerContext[]>();
  private connection: Promise<Client> | null = null;
  private openingTransport: Transport | null = null;
  private isClosing = false;
  /** Connections to child processes that ended by themselves, which ends their calls. */
  private readonly endedClients = new WeakSet<Client>();
  link: ClientLink | null = null;
  /** Called when a server that is a child process has ended by itself. */
  onEnd: () => void = () => undefined;

  constructor(
    /** The name in resources; empty until it is known. */
    public name: string,
    readonly target: Target,
    readonly maxCallMs = MAX_CALL_MS,
  ) {}

  /** True if a governed request is sent once, whatever becomes of it. */
  private get sendsOnce(): boolean {
    return 'url' in this.target && this.target.sendsOnce === true;
  }

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
   * Loads all pages of a list; empty if the server does not support it. An item that is invalid, too long, or has the
   * name of another, is left out with a message on stderr, and so is the rest of a list that does not end.
   */
  list<List extends keyof ListedItems>(list: List): Promise<ListedItems[List][]> {
    return this.ask((client) => this.listFrom(client, list));
  }

  private async listFrom<List extends keyof ListedItems>(client: Client, list: List): Promise<ListedItems[List][]> {
    const kind: Kind = list === 'tools' || list === 'prompts' ? list : 'resources';
    if (client.getServerCapabilities()?.[kind] === undefined) return [];
    const { method } = LISTS[list];
    const items = new Map<string, ListedItems[List]>();
    const cursors = new Set<string>();
    const signal = AbortSignal.timeout(MAX_LIST_MS);
    const meter = new AnswerMeter(('url' in this.target ? this.target.bounds : undefined) ?? DEFAULT_BOUNDS);
    let isTooLarge = false;
    for (let cursor: string | undefined; ;) {
      const params = cursor === undefined ? {} : { cursor };
      const page = await client.request({ method, params }, ANY_PAGE, { signal });
      const [listed, next] = [page[list], page['nextCursor']];
      if (!Array.isArray(listed)) throw new Error(`Expected a list of ${list}.`);
      for (const item of listed as readonly unknown[]) {
        const checked = checkItem(list, item, items);
        if ('fault' in checked) this.warn(`${warnedName(checked.name)} is left out of ${list}: ${checked.fault}.`);
        else {
          isTooLarge = meter.add(JSON.stringify(checked.item)) !== null;
          if (isTooLarge) break;
          items.set(checked.name, checked.item);
        }
        if (items.size > MAX_LISTED) break;
      }
      const isEnd = next === undefined || next === null;
      const goesOn = isCursor(next) && !cursors.has(next) && cursors.size < MAX_PAGES;
      const isOver = items.size > MAX_LISTED || isTooLarge;
      if (isOver || !(isEnd || goesOn)) {
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

  /** Prints each warning once. */
  private warn(text: string): void {
    if (this.reportedWarnings.has(text) || this.reportedWarnings.size >= MAX_WARNINGS) return;
    this.reportedWarnings.add(text);
    printError(plain(`The MCP server ${this.name}: ${text.slice(0, MAX_WARNING_LENGTH)}`));
  }

  /** @throws UnknownOutcomeError if the call was sent and no answer came. */
  callTool(tool: ItemName, input: Arguments | undefined, callOptions: CallOptions): Promise<CallToolResult> {
    // Without a definition the SDK may call a tool again.
    const definition = this.definitions.get(tool.name) ?? (this.sendsOnce ? undefinedTool(tool.name) : undefined);
    return this.passOn(tool.visibleName, callOptions, async (client, options) => {
      const call = { name: tool.name, ...(input === undefined ? {} : { arguments: { ...input } }), ...traceMeta() };
      // The definition tells the SDK which parameters go into headers.
      const result = await client.callTool(call, { ...options, ...(definition && { toolDefinition: definition }) });
      return resultOnly(result, 'content', 'structuredContent', 'isError');
    });
  }

  /** @throws UnknownOutcomeError if the request was sent and no answer came; NotSentError if it was not sent. */
  async passOn<Result>(
    label: string,
    callOptions: CallOptions,
    send: (client: Client, options: RequestOptions) => Promise<Result>,
    isRepeated = false,
  ): Promise<Result> {
    const { signal, onProgress, context } = callOptions;
    const client = await beforeAbort(this.client(), signal).catch(refuseUnsent);
    const contexts = this.activeContexts.get(client) ?? [];
    this.activeContexts.set(client, contexts);
    contexts.push(context);
    // A server without a handshake may answer with questions for several rounds, each with a timeout of its own.
    const late = new AbortController();
    const timeLimit = setTimeout(() => late.abort(timedOut()), this.maxCallMs);
    try {
      const options = { signal: AbortSignal.any([signal, late.signal]), timeout: this.maxCallMs };
      return await send(client, { ...options, ...(onProgress && { onprogress: onProgress }) });
    } catch (error) {
      if (this.endedClients.has(client)) throw new UnknownOutcomeError(label, new Error('it ended'));
      if (signal.aborted) throw error;
      const isAnswer = error instanceof ProtocolError && !isLostAnswer(error);
      // A server that has forgotten the session has done nothing.
      const hasNoSession = !isRepeated && (await isSessionForgotten(client, error));
      if (!isAnswer && 'url' in this.target) await this.giveUp(client);
      if (hasNoSession && this.sendsOnce) throw forgottenSession(error);
      if (hasNoSession) return await this.passOn(label, callOptions, send, true);
      throw mayHaveRun(error) ? new UnknownOutcomeError(label, error) : error;
    } finally {
      clearTimeout(timeLimit);
      contexts.splice(contexts.indexOf(context), 1);
      void this.closeUnused(client);
    }
  }

  /** @throws UnknownOutcomeError if the request was sent and no answer came. */
  async subscribe(uri: string, callOptions: CallOptions): Promise<object> {
    const result = await this.passOn(`resources/subscribe of ${uri}`, callOptions, (client, options) =>
      client.subscribeResource({ uri, ...traceMeta() }, options),
    );
    this.settings.addSubscription(uri);
    return resultOnly(result);
  }

  async unsubscribe(uri: string): Promise<void> {
    this.settings.removeSubscription(uri);
    await this.ask((client) => client.unsubscribeResource({ uri }));
  }

  /** Sets the level at a server that has a log, and again on later connections. */
  async setLogLevel(level: LogLevel): Promise<void> {
    this.settings.setLevel(level);
    await this.ask(
      async (client) => client.getServerCapabilities()?.logging !== undefined && setLogLevel(client, level),
    );
  }

  /** Sends a message that needs no permission, for example a notification. */
  async say(send: (client: Client) => Promise<unknown>): Promise<void> {
    await this.ask(send);
  }

  /**
   * Sends a request that changes nothing, and repeats it over a new connection if it fails: the server may have
   * forgotten the session.
   */
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
    await this.openingTransport?.close();
    await (await this.connection?.catch(() => null))?.close();
  }

  /** Abandons the connection; the next call opens a new one. */
  private async giveUp(client: Client): Promise<void> {
    if ((await this.connection?.catch(() => null)) === client) this.connection = null;
  }

  private async closeUnused(client: Client): Promise<void> {
    if ((this.activeContexts.get(client)?.length ?? 0) > 0) return;
    this.activeContexts.delete(client);
    if ((await this.connection?.catch(() => null)) === client) return;
    const { transport } = client;
    if (transport instanceof AnsweringTransport) await transport.terminateSession().catch(() => undefined);
    await client.close().catch(() => undefined);
  }

  private client(): Promise<Client> {
    // Nobody would close a connection that is opened now.
    if (this.isClosing)
      return Promise.reject(new NotSentError('The MCP server, or the session of its client, has ended.'));
    this.connection ??= this.connect().catch((error: unknown) => {
      this.connection = null;
      throw error;
    });
    return this.connection;
  }

  private async connect(): Promise<Client> {
    if ('url' in this.target) return this.openConnection('auto');
    try {
      // The handshake is tried first, so that a server that has one needs no second process.
      return await this.openConnection('legacy');
    } catch (error) {
      if (!(error instanceof ProtocolError) || error.code !== UNSUPPORTED_VERSION) throw error;
      return this.openConnection({ pin: MODERN });
    }
  }

  private async openConnection(mode: 'auto' | 'legacy' | { pin: string }): Promise<Client> {
    const optionsOf = (kind: Kind): { autoRefresh: boolean; onChanged: () => void } => ({
      autoRefresh: false,
      onChanged: () => this.link?.onListChange(kind),
    });
    const client = new Client(IDENTITY, {
      versionNegotiation: { mode },
      // Requests for capabilities that the session's client lacks are refused later: the client is not known yet.
      capabilities: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } },
      listChanged: { tools: optionsOf('tools'), prompts: optionsOf('prompts'), resources: optionsOf('resources') },
    });
    client.setRequestHandler('roots/list', () => this.requireLink().roots());
    client.setRequestHandler('elicitation/create', ({ params }: ElicitRequest, { mcpReq }: ClientContext) => {
      const calls = this.activeContexts.get(client) ?? [];
      // If several calls run, it is not known to which one the question belongs.
      const signals = [mcpReq.signal, ...(calls.length === 1 ? calls.map((call) => call.mcpReq.signal) : [])];
      return this.requireLink().elicit(this.name, params, calls.at(-1), AbortSignal.any(signals));
    });
    client.fallbackRequestHandler = ({ method }) => {
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `gov mcp does not pass on ${method}: ask without it.`);
    };
    client.fallbackNotificationHandler = async (notification) => this.link?.onNotification(this.name, notification);
    const transport = this.transport();
    this.openingTransport = transport;
    await client.connect(transport).finally(() => (this.openingTransport = null));
    client.onclose = () => {
      void this.giveUp(client);
      if (this.isClosing || 'url' in this.target) return;
      this.endedClients.add(client);
      this.onEnd();
    };
    // The settings are restored before any other request is sent over this connection.
    void this.settings.restore(client).then((faults) => {
      if (!this.isClosing) faults.forEach((fault) => this.warn(fault));
    });
    return client;
  }

  private requireLink(): ClientLink {
    if (this.link !== null) return this.link;
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'No session of a client is behind this connection.');
  }

  private transport(): Transport {
    if ('url' in this.target) return new AnsweringTransport(this.target);
    return new ChildProcessTransport(this.target.command, { ...serverEnvironment(), ...this.target.env });
  }
}

/** Throws an error of a server with its message only: its data could be a question to the user. */
function refuse(error: unknown): never {
  throw error instanceof ProtocolError ? new ProtocolError(error.code, error.message) : error;
}

function timedOut(): SdkError {
  return new SdkError(SdkErrorCode.RequestTimeout, 'Request timed out');
}

/** A tool that the server has not listed. */
function undefinedTool(name: string): Tool {
  return { name, inputSchema: { type: 'object' } };
}

/** Removes the output schema: a client would discard a result that does not fit it, and call the tool again. */
function withoutOutputSchema(tool: Tool): Tool {
  const visibleTool = { ...tool };
  delete visibleTool.outputSchema;
  return visibleTool;
}
