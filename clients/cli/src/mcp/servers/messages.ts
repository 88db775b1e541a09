import { type JSONRPCMessage, type ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import { randomUUID } from 'node:crypto';
import { isTooDeep, MAX_LEVELS } from '../../nesting.js';

/**
 * Maximum bytes of a message from either side: far more than the service takes for a call, which it refuses with a
 * message of its own. The SDK takes four times as long to read twice as much.
 */
export const MAX_MESSAGE_BYTES = 16 * 2 ** 20;
/** Messages that are read of a list: the SDK handles all of a list at once, and so does this program. */
const MAX_OF_LIST = 20;
/** Levels at which the protocol has members of its own. */
const MAX_DEPTH = 8;
/** Members whose values belong to servers and clients: a null there has a meaning. */
const FREE_MEMBERS: ReadonlySet<string> = new Set([
  ...[
    'arguments',
    'structuredContent',
    'inputSchema',
    'outputSchema',
    'requestedSchema',
    '_meta',
    'data',
    'experimental',
  ],
]);
/** Prefix of the protocol's own members of `_meta`. */
const PROTOCOL_PREFIX = 'io.modelcontextprotocol/';
/** A new secret for each process, so that no server can send it. */
const LOST: string = randomUUID();

type Id = string | number;

/** An error in place of an answer that never comes, or cannot be used. */
export function lostAnswer(id: Id, message: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InternalError, message, data: LOST } };
}

/** True if this error stands for an answer that never came. */
export function isLostAnswer(error: ProtocolError): boolean {
  return error.data === LOST;
}

/** Returns the message without members of the protocol that are null, which count as absent. */
export function withoutNulls(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1));
  const members = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(
    members.map(([name, member]) => {
      if (name === '_meta') return [name, withoutNullsInMeta(member, depth + 1)];
      return [name, FREE_MEMBERS.has(name) ? member : withoutNulls(member, depth + 1)];
    }),
  );
}

/** Removes null members of `_meta` that belong to the protocol. */
function withoutNullsInMeta(meta: unknown, depth: number): unknown {
  if (!isObject(meta)) return meta;
  const members = Object.entries(meta).filter(([name, member]) => name !== 'progressToken' || member !== null);
  return Object.fromEntries(
    members.map(([name, member]) => [name, name.startsWith(PROTOCOL_PREFIX) ? withoutNulls(member, depth) : member]),
  );
}

/**
 * Returns the messages in untrusted JSON, of a list the first. A malformed answer becomes an error, so that no request
 * waits for it, and so does one that is nested too deep. Other malformed messages are left out.
 */
export function messagesIn(value: unknown): JSONRPCMessage[] {
  return (Array.isArray(value) ? value.slice(0, MAX_OF_LIST) : [value]).flatMap(messageIn);
}

function messageIn(value: unknown): JSONRPCMessage[] {
  if (!isObject(value)) return [];
  if (isTooDeep(value)) {
    const { id, method } = value;
    const isAnswer = isId(id) && method === undefined;
    return isAnswer ? [lostAnswer(id, `its answer is nested more than ${MAX_LEVELS} levels deep`)] : [];
  }
  const { id, method, params, result, error } = withoutNulls(value) as Readonly<Record<string, unknown>>;
  const jsonrpc = '2.0' as const;
  const hasId = isId(id);
  if (typeof method === 'string') {
    const message = { jsonrpc, method, ...(params !== undefined && { params: isObject(params) ? params : {} }) };
    return [hasId ? { ...message, id } : message];
  }
  if (!hasId) return [];
  if (isObject(result) && error === undefined) return [{ jsonrpc, id, result }];
  if (!isObject(error) || result !== undefined) return [lostAnswer(id, 'It is neither a result nor an error.')];
  const { code, message = 'It is an error without a message.', data } = error;
  const isCode = typeof code === 'number' && Number.isSafeInteger(code);
  return [
    { jsonrpc, id, error: { code: isCode ? code : ProtocolErrorCode.InternalError, message: String(message), data } },
  ];
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || (typeof value === 'number' && Number.isSafeInteger(value));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses JSON; null if the text is not JSON. */
export function parseMessage(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
