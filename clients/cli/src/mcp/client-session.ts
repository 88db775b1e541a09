import type { InputRequiredResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { PrincipalOptions } from '../principal-options.js';
import { elicitationOf } from './elicitation.js';
import { type Gate, type GovernedCall, governedCall } from './governed-call.js';
import type { Mapping, ToolRequest } from './mapping.js';
import type { Pins } from './servers/pins.js';
import type { Servers } from './servers/servers.js';
import { withinTrace } from './trace-of-call.js';
import type { ToolWarnings } from './tool-warnings.js';
import type { Visible } from './visible.js';

/** The parts of one client's session: its server, the governed servers, and what the policies allow of them. */
export interface SessionParts {
  readonly server: McpServer['server'];
  readonly servers: Servers;
  readonly gate: Gate;
  readonly mapping: Mapping;
  readonly toolWarnings: ToolWarnings;
  readonly pins: Pins | null;
  readonly visible: Visible;
  readonly forWhom: PrincipalOptions;
  /** The people who may answer the agent's questions; null if it cannot ask. */
  readonly ask: readonly string[] | null;
}

/** Carries out the request of a client once the policies allow it. */
export function carryOutGoverned<Result>(
  { server, gate, forWhom }: SessionParts,
  context: ServerContext,
  call: Omit<GovernedCall<Result>, 'requestOf'> & { readonly requestOf: () => ToolRequest | Promise<ToolRequest> },
): Promise<Result | InputRequiredResult> {
  const callWithPrincipal = { ...call, requestOf: async () => ({ ...(await call.requestOf()), ...forWhom }) };
  const { _meta } = context.mcpReq;
  return withinTrace(_meta, () => governedCall(gate, callWithPrincipal, context, elicitationOf(server, context)));
}
