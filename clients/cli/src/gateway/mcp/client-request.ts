import { isJsonContentType } from '@modelcontextprotocol/server';
import type { Caller } from '../calls/known-callers.js';
import { Refusal } from '../calls/refusal.js';
import type { SharedRoom } from '../shared-room.js';
import { holdBody } from '../listener/body.js';
import type { ClientExchange } from '../listener/http-listener.js';
import { inTurns } from '../request/turns.js';
import { headerPairs } from '../upstream/request-headers.js';
import { readMessage, requestIdsIn } from './client-message.js';
import { MCP_PATH } from './mcp-path.js';

/** Method of the protocol without handshake with which a client begins to listen. */
const LISTEN = 'subscriptions/listen';
/** Headers of a client that belong to MCP. */
const MCP_HEADERS = /^(?:accept|content-type|last-event-id|mcp-.+)$/;

export interface ClientRequestParts {
  readonly exchange: ClientExchange;
  /** The headers without the key. */
  readonly rawHeaders: readonly string[];
  readonly caller: Caller;
  readonly room: SharedRoom;
  readonly maxBodyBytes: number;
}

/** A request as the SDK takes it. */
export interface ClientRequest {
  /** Has no body: it is in `message`. */
  readonly request: Request;
  /** The parsed body of a POST, null if it is not JSON; undefined for other methods. */
  readonly message: unknown;
  /** True if its response goes on for as long as the client listens. */
  readonly isStream: boolean;
  /** Number of the requests in it. */
  readonly requests: number;
  /** Gives back the room of the body. */
  readonly release: () => void;
}

/** Reads a request of a client whole. @throws Refusal; the reason of `left` once the client has left */
export async function readClientRequest(parts: ClientRequestParts): Promise<ClientRequest> {
  const { exchange, rawHeaders, caller, room, maxBodyBytes } = parts;
  const { method = '' } = exchange.request;
  const headers = new Headers();
  for (const [name, value] of headerPairs(rawHeaders))
    if (MCP_HEADERS.test(name.toLowerCase())) headers.append(name, value);
  const request = new Request(`http://gateway${MCP_PATH}`, { method, headers, signal: exchange.left });
  if (method !== 'POST')
    return { request, message: undefined, isStream: method === 'GET', requests: 0, release: () => undefined };
  const encoding = exchange.request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new Refusal(415, 'body_encoded', 'The body must not be compressed.');
  if (!isJsonContentType(headers.get('Content-Type')))
    throw new Refusal(415, null, 'The body must be application/json.');
  const { agentId } = caller;
  const { bytes, release } = await holdBody(exchange, maxBodyBytes, { room, agentId });
  try {
    const message = await inTurns(readMessage(bytes), { agentId, left: exchange.left });
    const { method: called } = Object(message) as { method?: unknown };
    return { request, message, isStream: called === LISTEN, requests: requestIdsIn(message).length, release };
  } catch (error) {
    release();
    throw error;
  }
}
