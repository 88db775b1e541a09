import { byId, byKey, type Lookup } from '../../ledger/kinds/lookup';
import type { Moment, RecordHistory } from '../../ledger/record-history';
import type { RecordKind } from '../../ledger/kinds/record-kind';
import { type Agent, AGENT } from './agent.entity';
import { normaliseAgentName } from './agent-name';
import {
  callerRefused,
  type DomainError,
  requireFound,
  invalidField,
  permissionDenied,
  scopeMissing,
} from '../../core/errors/domain-error';
import { normalFormC } from '../../core/values/normal-form';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import type { Caller } from '../../ledger/kinds/caller';
import type { Viewer } from '../../ledger/records/visibility';
import { isInReach } from './team';

/** Something that looks up agents: a command's transaction, or the reader. */
export interface AgentLookup {
  find(kind: RecordKind<Agent>, id: string): Promise<Agent | undefined>;
  findBy(kind: RecordKind<Agent>, key: { name: string }): Promise<Agent | undefined>;
}

/** An agent by id or name; no name has the form of an id. */
export function findAgent(records: AgentLookup, idOrName: string): Promise<Agent | undefined> {
  return isId(idOrName) ? records.find(AGENT, idOrName) : records.findBy(AGENT, { name: normaliseAgentName(idOrName) });
}

/** Finds the agent that a caller names by id or name; undefined also if it belongs to another team. */
export async function findNamedAgent(
  caller: Pick<Caller, 'team'>,
  records: AgentLookup,
  idOrName: string,
): Promise<Agent | undefined> {
  const agent = await findAgent(records, idOrName);
  return agent !== undefined && isInReach(caller, agent) ? agent : undefined;
}

/**
 * Returns a lookup of agents as they were at a moment.
 * @param viewer caller who sees only agents that are now in its team; undefined if all are visible
 */
export function agentsAsOf(history: RecordHistory, asOf: Moment | undefined, viewer?: Viewer): AgentLookup {
  return {
    find: (kind, id) => history.find(kind, id, asOf, viewer),
    findBy: (kind, key) => history.findBy(kind, key, asOf, viewer),
  };
}

/** Existing agents by the text that names them. */
export type NamedAgents = ReadonlyMap<string, Agent>;

export async function findAgents(records: AgentLookup, idsOrNames: ReadonlySet<string>): Promise<NamedAgents> {
  const agentsByName = new Map<string, Agent>();
  const find = async (idOrName: string): Promise<void> => {
    const agent = await findAgent(records, idOrName);
    if (agent !== undefined) agentsByName.set(idOrName, agent);
  };
  // All reads start at once: reads of single records that wait for each other share their statements.
  await Promise.all(Array.from(idsOrNames, find));
  return agentsByName;
}

/** Returns the lookup that `findAgent` will make. */
export function agentLookup(idOrName: string): Lookup {
  return isId(idOrName) ? byId(AGENT, idOrName) : byKey(AGENT, 'name', normaliseAgentName(idOrName));
}

/** Replaces an agent's name in a filter by its id. A text that names no agent stays, and finds nothing. */
export async function withAgentId<Member extends string, Filtered extends Readonly<Partial<Record<Member, string>>>>(
  records: AgentLookup,
  filters: Filtered,
  member: Member,
): Promise<Filtered> {
  const idOrName: string | undefined = filters[member];
  if (idOrName === undefined || isId(idOrName)) return filters;
  const agent = await findAgent(records, idOrName);
  return agent === undefined ? filters : { ...filters, [member]: agent.id };
}

/** Replaces the name of a person in the subject `agent:<name>` by the id; any other subject stays. */
export async function withPersonId<Filtered extends { readonly principal?: string }>(
  records: AgentLookup,
  filters: Filtered,
): Promise<Filtered> {
  if (filters.principal === undefined) return filters;
  const principal = normalFormC(filters.principal);
  if (!principal.startsWith(PERSON)) return { ...filters, principal };
  const { agentId } = await withAgentId(records, { agentId: principal.slice(PERSON.length) }, 'agentId');
  return { ...filters, principal: `${PERSON}${agentId}` };
}

/** False if a filter names its agent by name. */
export function hasAgentId({ agentId }: { readonly agentId?: string }): boolean {
  return agentId === undefined || isId(agentId);
}

const PERSON = 'agent:';

function isId(idOrName: string): boolean {
  return idOrName.startsWith(`${AGENT.idPrefix}_`);
}

/** Returns the agent that a field of a body names by id or name. @throws VALIDATION_ERROR if there is none */
export async function requireReferencedAgent(
  transaction: LedgerTransaction,
  field: string,
  idOrName: string,
): Promise<Agent> {
  const agent = await findNamedAgent(transaction.caller, transaction, idOrName);
  if (agent === undefined) throw invalidField(field, 'must be the id or the name of an existing agent');
  return agent;
}

/** Returns the refusal of a suspended agent; null for an active one. */
export function suspension(agent: Agent): DomainError | null {
  if (agent.status === 'active') return null;
  return permissionDenied('agent_suspended', `The agent "${agent.name}" is suspended. Resume it before it acts again.`);
}

/** Refuses a caller that is bound to another agent. @throws PERMISSION_DENIED */
export function requireActsAs({ agentId }: Pick<Caller, 'agentId'>, id: string | undefined): void {
  if (agentId !== null && agentId !== id) throw callerRefused('not_this_agent');
}

/**
 * Finds the agent that a path names, for callers who may act on it.
 * @param requireMay throws unless the caller may act on the agent with this id
 * @throws NOT_FOUND; the error of `requireMay`, also for an unknown agent if the caller may not see which exist
 */
export function agentFor(
  { effectiveScopes }: Pick<Caller, 'effectiveScopes'>,
  agent: Agent | undefined,
  requireMay: (id: string | undefined) => void,
): Agent {
  if (agent !== undefined || !effectiveScopes.has('read')) requireMay(agent?.id);
  return requireFound(agent, 'agent');
}

/**
 * Returns the agent that a caller claims to act as, by id or name.
 * @throws PERMISSION_DENIED if the caller is bound to another agent; VALIDATION_ERROR if the agent does not exist
 */
export async function requireActingAgent(
  transaction: LedgerTransaction,
  field: string,
  idOrName: string,
): Promise<Agent> {
  const agent = await findNamedAgent(transaction.caller, transaction, idOrName);
  requireActsAs(transaction.caller, agent?.id);
  if (agent === undefined) throw invalidField(field, 'must be the id or the name of an existing agent');
  return agent;
}

/** Refuses a caller bound to the agent itself, and for people any caller but an admin. @throws PERMISSION_DENIED */
export function requireMayChange(caller: Caller, { id, kind }: Pick<Agent, 'id' | 'kind'>): void {
  if (caller.agentId === id) throw callerRefused('own_agent');
  requireMayKeep(caller, kind);
}

/**
 * Refuses to create people for callers other than admins. People review, so a caller that manages agents could
 * otherwise create its own reviewer.
 * @throws PERMISSION_DENIED
 */
export function requireMayKeep({ effectiveScopes }: Pick<Caller, 'effectiveScopes'>, kind: Agent['kind']): void {
  if (kind === 'human' && !effectiveScopes.has('admin')) throw scopeMissing(['admin']);
}

const MAX_DAYS = 30;
const DAY = 24 * 60 * 60 * 1000;

/** True if actions that no policy allows are authorised for the agent, and noted. @param at ISO 8601 */
export function isObserved({ observeUntil }: Pick<Agent, 'observeUntil'>, at: string): boolean {
  return observeUntil !== null && at < observeUntil;
}

/**
 * Requires that only machines are observed, and not for long.
 * @param until end of the observation; null ends it at once
 * @throws VALIDATION_ERROR
 */
export function requireObservable({ kind }: Pick<Agent, 'kind'>, until: string | null, now: Date): void {
  if (kind === 'human') throw invalidField('observeUntil', 'must be left out: only machines are observed');
  const latest = new Date(now.getTime() + MAX_DAYS * DAY).toISOString();
  if (until === null || (until > now.toISOString() && until <= latest)) return;
  throw invalidField(
    'observeUntil',
    `must be null, or a time in the future, at most ${MAX_DAYS} days ahead: up to ${latest}`,
  );
}
