import { parseMessage, withoutNulls } from '../../mcp/servers/messages.js';
import { MAX_LEVELS } from '../../nesting.js';
import { readExtent } from '../../service-rules/json-extent.js';
import { Refusal } from '../calls/refusal.js';

/**
 * Parses the messages of a client, once, as the SDK reads them: without null members. Each message has steps of its
 * own, so that messages that are there together do not keep others waiting. Returns null for what is not JSON.
 * @throws Refusal 400 if it has more values, or levels, than the service takes
 */
export function* readMessage(bytes: Buffer): Generator<undefined, unknown, undefined> {
  yield;
  // The bounds are checked before anything is built from the bytes.
  const { levels, excess } = yield* readExtent(bytes, {});
  if (excess !== undefined) throw new Refusal(400, null, `The body ${excess}.`);
  // The SDK calls itself for each level, and would use up the stack.
  if (levels > MAX_LEVELS) throw new Refusal(400, null, `The body is nested more than ${MAX_LEVELS} levels deep.`);
  yield;
  const message = parseMessage(bytes.toString('utf8'));
  if (!bytes.includes('null')) return message;
  return Array.isArray(message) ? message.map((one) => withoutNulls(one)) : withoutNulls(message);
}

/** Ids of the requests in a message or a batch. */
export function requestIdsIn(message: unknown): unknown[] {
  return [message].flat().flatMap((one) => {
    const { id, method } = Object(one) as { id?: unknown; method?: unknown };
    return id === undefined || method === undefined ? [] : [id];
  });
}

/** Ids of the requests that a message or a batch cancels. */
export function cancelledIdsIn(message: unknown): unknown[] {
  return [message].flat().flatMap((one) => {
    const { method, params } = Object(one) as { method?: unknown; params?: unknown };
    if (method !== 'notifications/cancelled') return [];
    return [(Object(params) as { requestId?: unknown }).requestId];
  });
}
