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

/** What one client is served: the servers of its session, as far as the policies allow. */
export interface Offered {
  readonly server: McpServer['server'];
  readonly servers: Servers;
  readonly gate: Gate;
  readonly mapping: Mapping;
  readonly toolWarnings: ToolWarnings;
  readonly pins: Pins | null;
  readonly visible: Visible;
  readonly forWhom: PrincipalOptions;
}

/** Carries out what a client asks for, if and when it may. */
export function governed<Result>(
  { server, gate, forWhom }: Offered,
  context: ServerContext,
  call: Omit<GovernedCall<Result>, 'requestOf'> & { readonly requestOf: () => ToolRequest | Promise<ToolRequest> },
): Promise<Result | InputRequiredResult> {
  const asked = { ...call, requestOf: async () => ({ ...(await call.requestOf()), ...forWhom }) };
  const { _meta } = context.mcpReq;
  return withinTrace(_meta, () => governedCall(gate, asked, context, elicitationOf(server, context)));
}
