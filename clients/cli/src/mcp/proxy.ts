import { McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { GovernanceClient, GuardRequest, KeptResults } from '../../../typescript/src/index.js';
import { ApprovalWaits } from '../approval-waits.js';
import { plain, printError } from '../output.js';
import type { PrincipalOptions } from '../principal-options.js';
import { SettingsError } from '../settings.js';
import { approvalPages } from './approval-page.js';
import { linkOf, MAX_QUESTION_MS } from './client-link.js';
import type { CarryOut, Gate } from './governed-call.js';
import type { Mapping } from './mapping.js';
import type { Offered } from './client-session.js';
import { offerPrompts } from './client-session-prompts.js';
import { offerResources } from './client-session-resources.js';
import { offerTools } from './client-session-tools.js';
import type { Pins } from './servers/pins.js';
import type { RateLimitLeft } from './rate-limit-left.js';
import type { Servers } from './servers/servers.js';
import type { StopWatch } from './stop-watch.js';
import { ToolWarnings } from './tool-warnings.js';
import { Visible } from './visible.js';

export interface ProxyOptions {
  readonly governance: GovernanceClient;
  readonly serviceUrl: string;
  /** Id or name; the agent that the key is bound to unless given. */
  readonly agent: string | undefined;
  /** Its run is that of all sessions. */
  readonly forWhom: PrincipalOptions;
  readonly mapping: Mapping;
  /** What may be offered; anything where it is null. */
  readonly pins: Pins | null;
  readonly results: KeptResults;
  /** Seconds for which a call waits for its approval. */
  readonly hold: number;
  /** Holds the calls that were passed to a server, until they are reported. */
  readonly carrying: Set<Promise<unknown>>;
  readonly left: RateLimitLeft;
  readonly stops: Pick<StopWatch, 'during'>;
  /** Runs what is authorised, and reports it; by default with the key that asks. */
  readonly carryOut?: CarryOut;
  /** Members of each request besides those of the call. */
  readonly requestMembers?: Pick<GuardRequest, 'via'>;
  readonly waits?: ApprovalWaits;
}

/**
 * @param session the run of what is asked through it, unless the options have one. Null without sessions: a call that is repeated
 *   after its approval has to be of the same run.
 */
export type MakeServer = (session: string | null, servers: Servers) => McpServer;

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
};

/** Creates the proxy in front of servers: one for each connection, or for each request of the protocol without handshake. */
export async function proxyOf(first: Servers, options: ProxyOptions): Promise<MakeServer> {
  const { governance, hold, carrying, stops, results, mapping, pins } = options;
  const agent = agentOf(governance, options.agent);
  const visible = new Visible(governance, options.left, options.forWhom);
  const toolWarnings = new ToolWarnings(mapping);
  const gate: Gate = {
    governance,
    agent,
    hold,
    carrying,
    stops,
    results,
    carryOut:
      options.carryOut ??
      ((execution, run, { signal, results: kept }) => governance.carryOut(execution, run, { signal, results: kept })),
    requestMembers: options.requestMembers ?? {},
    waits: options.waits ?? new ApprovalWaits(),
    pageOf: approvalPages(options.serviceUrl),
  };
  const identity = { name: first.only?.name ?? 'gov', version: '1.0.0' };
  const instructions = await instructionsOf(first, pins);
  // Said at the start, and by lists later: a server that does not list its tools now does not keep clients waiting.
  void first.list('tools').then(
    (tools) => toolWarnings.report(first, tools),
    () => undefined,
  );
  const inputRequired = { roundTimeoutMs: MAX_QUESTION_MS };
  const settings = { capabilities: CAPABILITIES, inputRequired, ...(instructions !== '' && { instructions }) };
  return (session, servers) => {
    const server = new McpServer(identity, settings);
    const forWhom = { ...(session !== null && { run: session }), ...options.forWhom };
    const subscribed = new Set<string>();
    if (session !== null) servers.linkTo(linkOf(server, servers.only === null, subscribed));
    const offered = { server: server.server, servers, gate, mapping, toolWarnings, pins, visible, forWhom };
    offerTools(offered);
    offerResources(offered, subscribed);
    offerPrompts(offered);
    offerRest(offered);
    return server;
  };
}

/** Of each server under its name where there are several; what is not as it was pinned is left out. */
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

function offerRest({ server, servers }: Offered): void {
  server.setRequestHandler('logging/setLevel', async ({ params: { level } }) => {
    await servers.each('logging', (one) => one.setLogLevel(level));
    return {};
  });
  server.setNotificationHandler('notifications/roots/list_changed', async () => {
    await servers.each('roots', (one) =>
      one.say((client) => client.notification({ method: 'notifications/roots/list_changed' })),
    );
  });
  server.fallbackRequestHandler = ({ method }) => {
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `gov mcp does not pass on ${method}.`);
  };
}

/** Fetched when it is first needed, so that a proxy can start while the service is unreachable. */
function agentOf(governance: GovernanceClient, given: string | undefined): () => Promise<string> {
  let known = given;
  return async () => {
    known ??= (await governance.get('/api/v1/me')).agentId ?? undefined;
    if (known === undefined) throw new SettingsError('The key is bound to no agent: say which one acts by --agent.');
    return known;
  };
}
