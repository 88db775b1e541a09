import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Elicitation } from './governed-call.js';

/** The modes in which the client of a request, or of the session, can question its user. */
export function elicitationOf(server: McpServer['server'], context: ServerContext | undefined): Elicitation {
  const envelope = context?.mcpReq.envelope;
  // Without a handshake each request carries the capabilities of its client.
  const capability: unknown =
    envelope === undefined
      ? server.getClientCapabilities()
      : (envelope as Readonly<Record<string, unknown>>)[CLIENT_CAPABILITIES_META_KEY];
  const elicitation = (capability as ClientCapabilities | undefined)?.elicitation;
  if (elicitation === undefined) return null;
  const url = elicitation.url !== undefined;
  // A capability without a mode means forms.
  return { url, form: elicitation.form !== undefined || !url };
}
