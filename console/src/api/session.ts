import { errorOf } from '../../../clients/typescript/src/governance-error.js';
import { noteServiceTime } from './clock.js';
import { Fault } from './fault.js';
import { Feed } from './feed.js';
import { Names, type NameSource } from './names.js';
import { requiredContext } from './required-context.js';
import { Turns } from './turns.js';
import {
  ChangePending,
  type Decision,
  GovernanceClient,
  GovernanceError,
  type Me,
  type Scope,
  type TransportOptions,
} from './types.js';

const KEPT_KEY = 'governance-console-key';
/** Milliseconds for which a request to a busy service is repeated. */
const PATIENCE = 15_000;
/**
 * Milliseconds for which requests are repeated that must not fail because of the rate limit: longer than its default
 * window.
 */
const LONG_PATIENCE = 120_000;
/** Look-ups that run at a time: each of them then waits for one window of the rate limit at most. */
const LOOK_UPS = 4;
/** Milliseconds that a slow answer may take. */
const DAY = 86_400_000;
/** Number of names that are looked up at once. */
const FIRST_NAMES = 200;

/** A change is proposed when it is sent first, and made when it is sent again once it is approved. */
const changes = {
  approval: (decision: Decision): Promise<void> =>
    decision.status === 'approved' ? Promise.resolve() : Promise.reject(new ChangePending(decision)),
};

/** The signed-in caller, and what the page may do with its key. */
export interface Session {
  readonly client: GovernanceClient;
  /** For requests that read the whole ledger: after a timeout the service would have to start again. */
  readonly slowClient: GovernanceClient;
  /** For everything that a decision depends on, and for deciding: waits until the rate limit allows the request. */
  readonly patientClient: GovernanceClient;
  /** For requests that must not be sent late: does not repeat them. */
  readonly promptClient: GovernanceClient;
  /** Limits look-ups of which there may be hundreds. */
  readonly lookUps: Turns;
  /** The options of the client. */
  readonly connection: TransportOptions;
  readonly me: Me;
  readonly feed: Feed;
  /** Names of agents. */
  readonly names: Names;
  readonly entityNames: Names;
  /** True if the caller has one of the scopes. */
  has(this: void, ...scopes: readonly Scope[]): boolean;
}

/** Looks up whose key it is. @throws GovernanceError if the service does not accept it. */
export async function openSession(key: string, onRefused: () => void): Promise<Session> {
  const connection = { url: location.origin, key, patience: PATIENCE, fetch: watchedFetch(onRefused) };
  const client = new GovernanceClient({ ...connection, changes });
  const slowClient = new GovernanceClient({ ...connection, changes, timeout: DAY });
  const patientClient = new GovernanceClient({ ...connection, changes, patience: LONG_PATIENCE });
  const promptClient = new GovernanceClient({ ...connection, changes, patience: 0 });
  const me = await client.get('/api/v1/me');
  const scopes = new Set<Scope>(me.scopes);
  const has = (...scopesToCheck: readonly Scope[]): boolean =>
    scopes.has('admin') || scopesToCheck.some((scope) => scopes.has(scope));
  const query = { limit: FIRST_NAMES, order: 'desc' } as const;
  const agents: NameSource = {
    first: () => client.get('/api/v1/agents', { query }),
    byId: (id) => client.get('/api/v1/agents/{id}', { path: { id }, query: {} }),
  };
  const entities: NameSource = {
    first: () => client.get('/api/v1/entities', { query }),
    byId: (id) => client.get('/api/v1/entities/{id}', { path: { id }, query: {} }),
  };
  const [names, entityNames] = [new Names(agents, has('read')), new Names(entities, has('read'))];
  const feed = new Feed(client, connection, has('audit'), has('read'));
  // Agents keep their names.
  feed.listen((entry) => {
    if (entry === null) entityNames.renewFirst();
    else if (entry.action === 'entity.updated' && [entry.details?.['fields']].flat().includes('name'))
      entityNames.renew(entry.subjectId);
  });
  await feed.prepare();
  const clients = { client, slowClient, patientClient, promptClient, connection, lookUps: new Turns(LOOK_UPS) };
  return { ...clients, me, names, entityNames, feed, has };
}

/** Notifies the owner of the session if the key is refused during a request because it has ended. */
function watchedFetch(onRefused: () => void): typeof fetch {
  return async (...request) => {
    const response = await fetch(...request);
    noteServiceTime(response.headers.get('Date'));
    const isRead = (request[1]?.method ?? 'GET') === 'GET';
    // A write may be refused because of another agent than the caller's own.
    const mayHaveEnded = response.status === 401 || (response.status === 403 && isRead);
    if (mayHaveEnded && hasEnded(errorOf(response.status, await response.clone().text()))) onRefused();
    return response;
  };
}

/** True if the service refuses the caller itself: its key has ended, or its agent is suspended. */
export function hasEnded(error: unknown): boolean {
  return error instanceof GovernanceError && (error.status === 401 || error.reason === 'agent_suspended');
}

/** The key that this tab keeps; null unless its holder chose to keep it. */
export function keptKey(): string | null {
  try {
    return sessionStorage.getItem(KEPT_KEY);
  } catch {
    // A browser that stores nothing throws.
    return null;
  }
}

export function keepKey(key: string): void {
  try {
    sessionStorage.setItem(KEPT_KEY, key);
  } catch {
    throw new Fault('This browser does not store anything for this page.', 'Sign in without staying signed in.');
  }
}

export function forgetKey(): void {
  if (keptKey() !== null) sessionStorage.removeItem(KEPT_KEY);
}

export const [SessionProvider, useSession] = requiredContext<Session>('Nobody is signed in here.');
