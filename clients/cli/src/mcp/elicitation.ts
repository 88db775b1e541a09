import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Elicitation } from './governed-call.js';

/** How the client of a request, or of the session, can be asked. */
export function elicitationOf(server: McpServer['server'], context: ServerContext | undefined): Elicitation {
  const envelope = context?.mcpReq.envelope;
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
