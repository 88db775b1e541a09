import {
  isInitializeRequest,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { cancelledIdsIn, requestIdsIn } from './client-message.js';
import { mostFirst } from './most-first.js';

/** A request of a client, in its session or to begin one. */
export interface SessionRequest {
  readonly request: Request;
  /** The parsed body of a POST; undefined for other methods. */
  readonly message: unknown;
  readonly agentId: string;
  /** The owner of the session, who alone can use it. */
  readonly owner: string;
  /** Creates the server of a new session when a client begins one. */
  readonly open: () => Promise<SessionServer>;
}

export interface SessionServer {
  readonly server: McpServer;
  /** Called once when the session has ended. */
  readonly onEnd: () => void;
}

export interface SessionBounds {
  readonly ofOneOwner: number;
  /** The most sessions of all owners that act as one agent. */
  readonly ofOneAgent: number;
  readonly all: number;
}

interface Session {
  readonly agentId: string;
  readonly owner: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly server: McpServer;
  /** Ids of the requests that are not answered yet. */
  readonly ids: Set<unknown>;
}

/** Codes of JSON-RPC errors. */
const SERVER_ERROR = -32_000;
const INVALID_REQUEST = -32_600;
const SESSION_NOT_FOUND = -32_001;

/**
 * Keeps the sessions of clients that speak the protocol with a handshake. Cancellations, questions and progress of a
 * client go through its session.
 */
export class Sessions {
  /** The sessions, the most recently used last. */
  private readonly sessions = new Map<string, Session>();
  /** The agents of sessions that begin. */
  private readonly starting: string[] = [];

  constructor(private readonly bounds: SessionBounds) {}

  get count(): number {
    return this.sessions.size + this.starting.length;
  }

  async answer(call: SessionRequest): Promise<Response> {
    const { request, message, agentId } = call;
    const id = request.headers.get('Mcp-Session-Id');
    if (id !== null) return this.continueSession(id, call);
    if (!isInitializeRequest(message)) return jsonRpcRefusal(400, SERVER_ERROR, 'A session begins with initialize.');
    if (!this.makeRoom(call)) return jsonRpcRefusal(503, SERVER_ERROR, 'There are as many sessions as there can be.');
    this.starting.push(agentId);
    try {
      return await this.begin(call);
    } finally {
      this.starting.splice(this.starting.indexOf(agentId), 1);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.sessions.values()].map(({ server }) => server.close()));
  }

  private async continueSession(id: string, { owner, request, message }: SessionRequest): Promise<Response> {
    const session = this.sessions.get(id);
    if (session?.owner !== owner) return jsonRpcRefusal(404, SESSION_NOT_FOUND, 'There is no such session.');
    this.sessions.delete(id);
    this.sessions.set(id, session);
    if (request.method !== 'POST') return session.transport.handleRequest(request);
    const ids = requestIdsIn(message);
    // The SDK would send the answer to one request as that to the other.
    if (ids.some((requestId) => session.ids.has(requestId)) || new Set(ids).size < ids.length)
      return jsonRpcRefusal(400, INVALID_REQUEST, 'The id of a request is in use by another.');
    // Such a request might end without an answer, and its id would never be free again.
    if (cancelledIdsIn(message).some((requestId) => ids.includes(requestId)))
      return jsonRpcRefusal(400, INVALID_REQUEST, 'A batch cannot cancel a request of its own.');
    for (const requestId of ids) session.ids.add(requestId);
    const response = await session.transport.handleRequest(request, { parsedBody: message });
    // A request that is refused ends here.
    if (!response.ok) for (const requestId of ids) session.ids.delete(requestId);
    return response;
  }

  private async begin({ request, message, agentId, owner, open }: SessionRequest): Promise<Response> {
    const { server, onEnd } = await open();
    const ids = new Set<unknown>();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.sessions.set(id, { agentId, owner, transport, server, ids });
        const own = this.sessionsOf({ owner });
        if (own.length > this.bounds.ofOneOwner) this.endLongestIdle(own);
      },
    });
    await server.connect(transport);
    const send = transport.send.bind(transport);
    transport.send = async (message, options) => {
      if ('id' in message && !('method' in message)) ids.delete(message.id);
      return send(message, options);
    };
    server.server.onclose = () => {
      if (transport.sessionId !== undefined) this.sessions.delete(transport.sessionId);
      onEnd();
    };
    const response = await transport.handleRequest(request, { parsedBody: message });
    // Nothing else could end a server without a session.
    if (transport.sessionId === undefined) await server.close();
    return response;
  }

  /** Makes room for a new session: ends another if there are as many as there may be. Returns false if none can end. */
  private makeRoom({ agentId, owner }: SessionRequest): boolean {
    if (this.hasAllOf(agentId)) {
      this.endLongestIdle(this.sessionsOf({ agentId }));
      return true;
    }
    // If the owner has the maximum number of sessions, one of the owner's ends when the new one begins.
    if (this.count < this.bounds.all || this.sessionsOf({ owner }).length >= this.bounds.ofOneOwner) return true;
    const idle = mostFirst(this.sessionsOf({}), (session) => session.agentId).find(({ ids }) => ids.size === 0);
    if (idle !== undefined) this.end(idle);
    return idle !== undefined;
  }

  /** True if the agent has the maximum number of sessions, including those that begin. */
  private hasAllOf(agentId: string): boolean {
    const starting = this.starting.filter((other) => other === agentId).length;
    return this.sessionsOf({ agentId }).length + starting >= this.bounds.ofOneAgent;
  }

  private endLongestIdle(sessions: readonly Session[]): void {
    const session = sessions.find(({ ids }) => ids.size === 0) ?? sessions[0];
    if (session !== undefined) this.end(session);
  }

  private end({ transport, server }: Session): void {
    this.sessions.delete(transport.sessionId ?? '');
    void server.close();
  }

  private sessionsOf(one: Partial<Pick<Session, 'agentId' | 'owner'>>): Session[] {
    return [...this.sessions.values()].filter(
      ({ agentId, owner }) => (one.agentId ?? agentId) === agentId && (one.owner ?? owner) === owner,
    );
  }
}

function jsonRpcRefusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}
