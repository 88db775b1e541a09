import { McpServer, ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server';
import type { GovernanceClient, GuardRequest, KeptResults } from '../../../typescript/src/index.js';
import { ApprovalWaits } from '../approval-waits.js';
import { plain, printError } from '../output.js';
import type { PrincipalOptions } from '../principal-options.js';
import { SettingsError } from '../settings.js';
import { approvalPages } from './approval-page.js';
import { linkOf } from './client-link.js';
import type { CarryOut, Gate } from './governed-call.js';
import type { Mapping } from './mapping.js';
import type { SessionParts } from './client-session.js';
import { offerPrompts } from './client-session-prompts.js';
import { offerResources } from './client-session-resources.js';
import { offerTools } from './client-session-tools.js';
import { oneAtATime } from './one-at-a-time.js';
import type { Pins } from './servers/pins.js';
import type { RateLimitLeft } from './rate-limit-left.js';
import type { Servers } from './servers/servers.js';
import type { StopWatch } from './stop-watch.js';
import { ToolWarnings } from './tool-warnings.js';
import { Visible } from './visible.js';

export interface ProxyOptions {
  readonly governance: GovernanceClient;
  readonly serviceUrl: string;
  /** Id or name of the agent. Default: the agent that the key is bound to. */
  readonly agent: string | undefined;
  /** The principal; its run applies to all sessions. */
  readonly forWhom: PrincipalOptions;
  readonly mapping: Mapping;
  /** The pins of tools that may be offered; null offers all. */
  readonly pins: Pins | null;
  readonly results: KeptResults;
  /** Seconds for which a call waits for its approval. */
  readonly hold: number;
  /** Says where the key comes from, to explain that the service does not take it. */
  readonly keySource: string;
  /** Holds the calls that were passed to a server, until they are reported, for whoever waits for them. */
  readonly activeCalls?: Set<Promise<unknown>>;
  readonly left: RateLimitLeft;
  readonly stops: Pick<StopWatch, 'during'>;
  /** Fires when the only server has ended. */
  readonly ended?: AbortSignal;
  /** Runs an authorised call, and reports it. Default: with the key that requested it. */
  readonly carryOut?: CarryOut;
  /** Members that each request has in addition to those of the call. */
  readonly requestMembers?: Pick<GuardRequest, 'via'>;
  /** Bytes above which the service gets the hash of a text. */
  readonly digestAbove: number;
  readonly waits?: ApprovalWaits;
  /** The people who may answer the agent's questions; it cannot ask unless given. */
  readonly ask?: readonly string[];
  /** Runs the handler of each request of a client. */
  readonly during?: DuringHandler;
}

export type DuringHandler = <Result>(handle: () => Promise<Result>) => Promise<Result>;

/**
 * @param session the run of its requests, unless the options have one. Null without sessions: a call that is repeated
 *   after its approval has to be of the same run.
 */
export type MakeServer = (session: string | null, servers: Servers, hasHandshake: boolean) => McpServer;

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
};

/**
 * Without a handshake a client subscribes by `subscriptions/listen`, which the SDK answers, and of which no server
 * learns.
 */
const WITHOUT_HANDSHAKE = { ...CAPABILITIES, resources: { listChanged: true } };

/**
 * Creates the proxy in front of servers: one for each connection, or for each request of the protocol without
 * handshake.
 */
export async function proxyOf(first: Servers, options: ProxyOptions): Promise<MakeServer> {
  const { governance, hold, keySource, activeCalls = new Set(), stops, results, mapping, pins } = options;
  const agent = agentOf(governance, options.agent);
  const visible = new Visible(governance, options);
  const toolWarnings = new ToolWarnings(mapping);
  const gate: Gate = {
    governance,
    agent,
    hold,
    keySource,
    activeCalls,
    stops,
    ended: options.ended,
    results,
    carryOut:
      options.carryOut ??
      ((execution, run, { signal, results: keptResults }) =>
        governance.carryOut(execution, run, { signal, results: keptResults })),
    requestMembers: options.requestMembers ?? {},
    secret: mapping.secret ?? [],
    digestAbove: options.digestAbove,
    waits: options.waits ?? new ApprovalWaits(),
    pageOf: approvalPages(options.serviceUrl),
  };
  const identity = { name: first.only?.name ?? 'gov', version: '1.0.0' };
  const instructions = await instructionsOf(first, pins);
  // Warnings appear at the start, and with later lists: a server that does not list its tools now must not delay
  // clients.
  void first.list('tools').then(
    (tools) => toolWarnings.report(first, tools),
    () => undefined,
  );
  return (session, servers, hasHandshake) => {
    const capabilities = hasHandshake ? CAPABILITIES : WITHOUT_HANDSHAKE;
    const server = new McpServer(identity, { capabilities, ...(instructions !== '' && { instructions }) });
    if (options.during !== undefined) handleDuring(server.server, options.during);
    const forWhom = { ...(session !== null && { run: session }), ...options.forWhom };
    const subscribedUris = new Set<string>();
    if (session !== null) servers.linkTo(linkOf(server, servers.only === null, subscribedUris));
    const parts = {
      ...{ server: server.server, servers, gate, mapping, toolWarnings, pins, visible, forWhom },
      ask: options.ask ?? null,
    };
    offerTools(parts);
    offerResources(parts, subscribedUris);
    offerPrompts(parts);
    offerRest(parts);
    return server;
  };
}

/**
 * Joins the instructions of the servers, with their names if there are several; those that do not match their pins are
 * left out.
 */
async function instructionsOf(servers: Servers, pins: Pins | null): Promise<string> {
  const texts = await servers.each('instructions', async (server) => {
    const text = await server.instructions();
    if (text === undefined) return '';
    if (pins !== null && !(await pins.knowsInstructions(server.name, text))) {
      printError(plain(`The instructions of ${server.name} are held back: they are not as they were pinned.`));
      return '';
    }
    return servers.only === null ? `# ${server.name}\n${text}` : text;
  });
  return texts.filter(Boolean).join('\n\n');
}

function offerRest({ server, servers }: SessionParts): void {
  server.setRequestHandler('logging/setLevel', async ({ params: { level } }) => {
    await servers.each('logging', (governedServer) => governedServer.setLogLevel(level));
    return {};
  });
  const rootsChanged = oneAtATime(() =>
    servers.each('roots', (governedServer) =>
      governedServer.say((client) => client.notification({ method: 'notifications/roots/list_changed' })),
    ),
  );
  server.setNotificationHandler('notifications/roots/list_changed', rootsChanged);
  server.fallbackRequestHandler = ({ method }) => {
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `gov mcp does not pass on ${method}.`);
  };
}

/** Code of the error that answers a cancelled request. */
const CANCELLED = -32_800;

type Handler = (request: unknown, context: ServerContext) => unknown;

/** Makes the handlers that are set from now on run within `during`. */
function handleDuring(server: McpServer['server'], during: DuringHandler): void {
  const setHandler = server.setRequestHandler.bind(server) as (method: string, handler: Handler) => void;
  const setWithin = (method: string, handler: Handler): void =>
    setHandler(method, (request, context) =>
      during(async () => handler(request, context)).finally(() => answerCancelled(server, context)),
    );
  server.setRequestHandler = setWithin as typeof server.setRequestHandler;
}

/**
 * Answers a request that was cancelled, once its handler has ended: the SDK sends nothing, and would keep its id, its
 * HTTP exchange and the other answers of its batch for as long as the session. Clients ignore the answer.
 */
function answerCancelled({ transport }: McpServer['server'], { mcpReq: { id, signal } }: ServerContext): void {
  if (!signal.aborted || transport === undefined) return;
  const error = { code: CANCELLED, message: 'The request was cancelled.' };
  // A session that has ended has no exchanges.
  transport.send({ jsonrpc: '2.0', id, error }).catch(() => undefined);
}

/** Returns a function that finds the agent at first use, so that a proxy can start while the service is unreachable. */
function agentOf(governance: GovernanceClient, agentOption: string | undefined): () => Promise<string> {
  let agentId = agentOption;
  return async () => {
    agentId ??= (await governance.get('/api/v1/me')).agentId ?? undefined;
    if (agentId === undefined) throw new SettingsError('The key is bound to no agent: say which one acts by --agent.');
    return agentId;
  };
}
