import { errorOf } from '../../../clients/typescript/src/governance-error.js';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { Feed } from './feed.js';
import { Names, type NameSource } from './names.js';
import { GovernanceClient, GovernanceError, type Me, type Scope, type TransportOptions } from './types.js';

const KEPT_KEY = 'governance-console-key';
/** Milliseconds for which a busy service is asked again. */
const PATIENCE = 15_000;
/** Milliseconds in which an answer comes that takes its time. */
const DAY = 86_400_000;
/** So many names are asked for at once. */
const FIRST_NAMES = 200;

/** Who is signed in, and what that lets the page do. */
export interface Session {
  readonly client: GovernanceClient;
  /** For what goes through the whole ledger: giving up would have the service begin again. */
  readonly slowClient: GovernanceClient;
  /** What the client was made of. */
  readonly connection: TransportOptions;
  readonly me: Me;
  readonly feed: Feed;
  /** Of agents. */
  readonly names: Names;
  readonly entityNames: Names;
  /** Whether the caller has one of the scopes. */
  has(this: void, ...scopes: readonly Scope[]): boolean;
}

/** Asks who the key is of. @throws GovernanceError where the service does not take it. */
export async function openSession(key: string, onRefused: () => void): Promise<Session> {
  const connection = { url: location.origin, key, patience: PATIENCE, fetch: watched(onRefused) };
  const client = new GovernanceClient(connection);
  const slowClient = new GovernanceClient({ ...connection, timeout: DAY });
  const me = await client.get('/api/v1/me');
  const scopes = new Set<Scope>(me.scopes);
  const has = (...wanted: readonly Scope[]): boolean =>
    scopes.has('admin') || wanted.some((scope) => scopes.has(scope));
  const query = { limit: FIRST_NAMES, order: 'desc' } as const;
  const agents: NameSource = {
    first: () => client.get('/api/v1/agents', { query }),
    one: (id) => client.get('/api/v1/agents/{id}', { path: { id }, query: {} }),
  };
  const entities: NameSource = {
    first: () => client.get('/api/v1/entities', { query }),
    one: (id) => client.get('/api/v1/entities/{id}', { path: { id }, query: {} }),
  };
  const [names, entityNames] = [new Names(agents, has('read')), new Names(entities, has('read'))];
  const feed = new Feed(client, has('audit'), has('read'));
  await feed.prepare();
  return { client, slowClient, connection, me, names, entityNames, feed, has };
}

/** A key that has ended is refused in the middle of something: the holder of the session is notified. */
function watched(onRefused: () => void): typeof fetch {
  return async (...request) => {
    const response = await fetch(...request);
    const isRead = (request[1]?.method ?? 'GET') === 'GET';
    // What is written may be refused for another agent than the caller's own.
    const mayHaveEnded = response.status === 401 || (response.status === 403 && isRead);
    if (mayHaveEnded && hasEnded(errorOf(response.status, await response.clone().text()))) onRefused();
    return response;
  };
}

/** Whether the service refuses the caller itself: its key has ended, or its agent is suspended. */
export function hasEnded(error: unknown): boolean {
  return error instanceof GovernanceError && (error.status === 401 || error.reason === 'agent_suspended');
}

/** The key of this tab; null unless its holder asked for it to be kept. */
export function keptKey(): string | null {
  return sessionStorage.getItem(KEPT_KEY);
}

export function keepKey(key: string): void {
  sessionStorage.setItem(KEPT_KEY, key);
}

export function forgetKey(): void {
  sessionStorage.removeItem(KEPT_KEY);
}

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('Nobody is signed in here.');
  return session;
}

/** What people read about an error: what happened, and what they can do. */
export function explained(error: unknown): { readonly what: string; readonly advice: string } {
  if (!(error instanceof GovernanceError)) return { what: String(error), advice: 'Reload the page and try again.' };
  return { what: error.message, advice: adviceFor(error) };
}

function adviceFor({ code, reason, status }: GovernanceError): string {
  if (code === 'UNREACHABLE') return 'Check that the service runs and that this machine is online, then try again.';
  if (code === 'RATE_LIMITED') return 'Wait a minute, then try again.';
  if (code === 'UNAUTHORIZED') return 'Check the key, or ask an administrator for another one.';
  if (code === 'CONFLICT') return 'Somebody else was faster. Reload to see the current state.';
  if (code === 'NOT_FOUND') return 'It may be gone, or your key may not see it.';
  if (reason === 'scope_missing') return 'Ask an administrator for a key with that scope.';
  if (reason === 'reviewer_not_bound') return 'Sign in with a key of your own, bound to you as an agent.';
  if (status === 503) return 'The service is busy. Try again in a moment.';
  return status === 403 ? 'Ask an administrator if you think you should be able to do this.' : 'Try again.';
}
