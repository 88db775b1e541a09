import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  McpServer,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { GovernanceClient } from '../../../typescript/src/index.js';
import type { PrincipalOptions } from '../principal-options.js';
import { SettingsError } from '../settings.js';
import { approvalPages } from './approval-page.js';
import { type Elicitation, type Gate, governedCall } from './governed-call.js';
import { type Mapping, requestOf } from './mapping.js';
import type { ToolServer } from './tool-server.js';
import type { RateLimitLeft } from './rate-limit-left.js';
import type { StopWatch } from './stop-watch.js';
import { VisibleTools } from './visible-tools.js';

export interface ProxyOptions {
  readonly governance: GovernanceClient;
  readonly serviceUrl: string;
  /** Id or name; the agent that the key is bound to unless given. */
  readonly agent: string | undefined;
  /** Its run is that of all sessions. */
  readonly forWhom: PrincipalOptions;
  readonly mapping: Mapping;
  /** Name of the server in resources. */
  readonly serverName: string;
  /** Seconds for which a call waits for its approval. */
  readonly hold: number;
  /** Holds the calls that were passed to the server, until they are reported. */
  readonly carrying: Set<Promise<unknown>>;
  readonly left: RateLimitLeft;
  readonly stops: StopWatch;
}

/**
 * @param session the run of what is asked through it, unless the options have one. Null without sessions: a call that is repeated
 *   after its approval has to be of the same run.
 */
export type MakeServer = (session: string | null) => McpServer;

/** Creates the proxy in front of a server: one for each connection, or for each request of the protocol without handshake. */
export function proxyOf(tools: ToolServer, options: ProxyOptions, instructions: string | undefined): MakeServer {
  const { governance, mapping, serverName, hold, carrying, stops, forWhom } = options;
  const agent = agentOf(governance, options.agent);
  const visibleTools = new VisibleTools(governance, mapping, serverName, options.left, forWhom);
  const shared: Omit<Gate, 'requestOf'> = {
    ...{ governance, agent, hold, carrying, stops, waiting: new Map(), promised: new Set() },
    run: (call, signal, onProgress) => tools.call(call, signal, onProgress),
    pageOf: approvalPages(options.serviceUrl),
  };
  const identity = { name: serverName, version: '1.0.0' };
  const settings = {
    capabilities: { tools: { listChanged: true } },
    ...(instructions === undefined ? {} : { instructions }),
  };
  return (session) => {
    const gate: Gate = {
      ...shared,
      requestOf: ({ name, arguments: given }) => ({
        ...requestOf(mapping, serverName, name, given),
        ...(session !== null && { run: session }),
        ...forWhom,
      }),
    };
    const server = new McpServer(identity, settings);
    server.server.setRequestHandler('tools/list', async ({ params }) => {
      const page = await tools.tools(params?.cursor);
      const visible = await visibleTools.among(await agent(), page.tools);
      const { nextCursor } = page;
      return { tools: visible.map(withoutTasks), ...(nextCursor === undefined ? {} : { nextCursor }) };
    });
    server.server.setRequestHandler('tools/call', async ({ params }, context) => {
      const call = { name: params.name, arguments: params.arguments };
      const result = await governedCall(gate, call, context, elicitationOf(server, context));
      if ('inputRequests' in result) return result;
      // No tool is shown with an output schema.
      return server.server.projectCallToolResult(result as CallToolResult, undefined);
    });
    return server;
  };
}

/** Whether the client gets it does not matter: it may be about to disconnect, and its calls still have to be reported. */
export function announceTools(server: McpServer): void {
  if (server.isConnected()) server.server.sendToolListChanged().catch(() => undefined);
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

/** Tasks are another way to call a tool, which this proxy does not offer. */
function withoutTasks(tool: Tool): Tool {
  const shown = { ...tool };
  delete shown.execution;
  return shown;
}

function elicitationOf({ server }: McpServer, { mcpReq: { envelope } }: ServerContext): Elicitation {
  // Without a handshake each request carries the capabilities of its client.
  const declared: unknown =
    envelope === undefined
      ? server.getClientCapabilities()
      : (envelope as Readonly<Record<string, unknown>>)[CLIENT_CAPABILITIES_META_KEY];
  const elicitation = (declared as ClientCapabilities | undefined)?.elicitation;
  if (elicitation === undefined) return null;
  const url = elicitation.url !== undefined;
  // Without a mode it means forms.
  return { url, form: elicitation.form !== undefined || !url };
}
