import { type McpServer, ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientLink, Kind } from './servers/governed-server.js';
import { elicitationOf } from './elicitation.js';

/** Milliseconds for which a server that asks at its start waits until the session has begun. */
const LONGEST_BEGINNING = 30_000;
/** Milliseconds for which a client may leave a question to its user unanswered. */
export const MAX_QUESTION_MS = 300_000;

/** Notifications that the client has not read yet: of more, the newest are dropped. */
const MAX_UNREAD_NOTIFICATIONS = 100;

/**
 * Between the servers of a session and its client.
 * @param areSeveral whether what servers say has to name them
 * @param subscribed the URIs whose changes the client may learn of
 */
export function linkOf({ server }: McpServer, areSeveral: boolean, subscribed: ReadonlySet<string>): ClientLink {
  const ready = new Promise<void>((resolve) => (server.oninitialized = resolve));
  let unread = 0;
  const notify = (method: string, params?: object): void => {
    // A server may send more than its client ever reads.
    if (unread >= MAX_UNREAD_NOTIFICATIONS) return;
    unread += 1;
    // Whether the client gets it does not matter: it may be about to disconnect, and its calls still have to be reported.
    server
      .notification({ method, ...(params && { params: { ...params } }) })
      .catch(() => undefined)
      .finally(() => (unread -= 1));
  };
  return {
    changed: (kind: Kind) => notify(`notifications/${kind}/list_changed`),
    notified: (name, { method, params = {} }) => {
      if (method === 'notifications/resources/updated' && subscribed.has(String(params['uri']))) notify(method, params);
      if (method === 'notifications/elicitation/complete') notify(method, params);
      if (method !== 'notifications/message') return;
      const logger = [...(areSeveral ? [name] : []), ...('logger' in params ? [params['logger']] : [])].join('/');
      notify(method, { ...params, ...(logger !== '' && { logger }) });
    },
    roots: async () => {
      await Promise.race([ready, sleep(LONGEST_BEGINNING, undefined, { ref: false })]);
      if (server.getClientCapabilities()?.roots === undefined) throw refusal('The client has no roots.');
      return server.request({ method: 'roots/list' });
    },
    elicit: async (name, params, within: ServerContext | undefined) => {
      const mode = params.mode === 'url' ? 'url' : 'form';
      if (within?.mcpReq.envelope !== undefined) throw refusal('A client without a handshake cannot be asked here.');
      if (elicitationOf(server, within)?.[mode] !== true) throw refusal(`The client cannot be asked (${mode}).`);
      // So that nothing passes for a question of the proxy.
      const asked = { ...params, message: `${name} asks: ${params.message}` };
      const options = { timeout: MAX_QUESTION_MS, ...(within && { signal: within.mcpReq.signal }) };
      const request = { method: 'elicitation/create' as const, params: asked };
      return within === undefined ? server.request(request, options) : within.mcpReq.send(request, options);
    },
  };
}

function refusal(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.MethodNotFound, message);
}
