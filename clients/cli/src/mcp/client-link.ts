import { type McpServer, ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientLink, Kind } from './servers/governed-server.js';
import { elicitationOf } from './elicitation.js';
import { MAX_QUESTION_MS } from './governed-call.js';
import { UnreadNotifications } from './unread-notifications.js';

/** Maximum time in milliseconds that a request of a starting server waits for the session to begin. */
const MAX_START_MS = 30_000;

/** Maximum number, and bytes, of notifications that the client has not read; beyond them, the newest are dropped. */
const MAX_UNREAD_NOTIFICATIONS = 100;
const MAX_UNREAD_BYTES = 2 ** 20;
/** Maximum number of questions of servers that a client has not answered. */
const MAX_OPEN_QUESTIONS = 10;

/**
 * Links the servers of a session with its client.
 * @param areSeveral true if messages have to name their server
 * @param subscribedUris URIs whose changes the client may see
 */
export function linkOf({ server }: McpServer, areSeveral: boolean, subscribedUris: ReadonlySet<string>): ClientLink {
  const ready = new Promise<void>((resolve) => (server.oninitialized = resolve));
  const unread = new UnreadNotifications(MAX_UNREAD_NOTIFICATIONS, MAX_UNREAD_BYTES);
  const notify = (method: string, params?: object): void =>
    void unread.send({ method, ...(params && { params: { ...params } }) }, (notification) =>
      server.notification(notification),
    );
  let openQuestions = 0;
  /** Counts a question from its arrival on, so that many at once cannot pass the bound together. */
  const askClient = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    if (openQuestions >= MAX_OPEN_QUESTIONS)
      throw refusal(`The client has ${MAX_OPEN_QUESTIONS} questions to answer already.`);
    openQuestions += 1;
    return ask().finally(() => (openQuestions -= 1));
  };
  return {
    onListChange: (kind: Kind) => notify(`notifications/${kind}/list_changed`),
    onNotification: (name, { method, params = {} }) => {
      if (method === 'notifications/resources/updated' && subscribedUris.has(String(params['uri'])))
        notify(method, params);
      if (method === 'notifications/elicitation/complete') notify(method, params);
      if (method !== 'notifications/message') return;
      const logger = [...(areSeveral ? [name] : []), ...('logger' in params ? [params['logger']] : [])].join('/');
      notify(method, { ...params, ...(logger !== '' && { logger }) });
    },
    roots: () =>
      askClient(async () => {
        await Promise.race([ready, sleep(MAX_START_MS, undefined, { ref: false })]);
        if (server.getClientCapabilities()?.roots === undefined) throw refusal('The client has no roots.');
        return server.request({ method: 'roots/list' });
      }),
    elicit: async (name, params, within: ServerContext | undefined, signal) => {
      const mode = params.mode === 'url' ? 'url' : 'form';
      if (within?.mcpReq.envelope !== undefined)
        throw refusal('A client without a handshake cannot be questioned here.');
      if (elicitationOf(server, within)?.[mode] !== true)
        throw refusal(`The client cannot question its user (${mode}).`);
      // The prefix shows that the question does not come from the proxy.
      const prefixedParams = { ...params, message: `${name} asks: ${params.message}` };
      const options = { timeout: MAX_QUESTION_MS, signal };
      const request = { method: 'elicitation/create' as const, params: prefixedParams };
      return askClient(() =>
        within === undefined ? server.request(request, options) : within.mcpReq.send(request, options),
      );
    },
  };
}

function refusal(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.MethodNotFound, message);
}

/** Returns the link for requests without a session, which have no client that could be asked. */
export function withoutSession(onListChange: ClientLink['onListChange']): ClientLink {
  const refuse = (): never => {
    throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Without a session there is nobody to ask.');
  };
  return { onListChange, onNotification: () => undefined, roots: refuse, elicit: refuse };
}
