import { byId, byKey, type Lookup } from '../ledger/lookup';
import type { Moment, RecordHistory } from '../ledger/record-history';
import type { RecordKind } from '../ledger/record-kind';
import type { Agent } from './agent.entity';
import { AGENT } from './agent.kind';
import { normaliseAgentName } from './agent-name';

/** Something that looks up agents: a command's transaction, or the reader. */
export interface AgentLookup {
  find(kind: RecordKind<Agent>, id: string): Promise<Agent | undefined>;
  findBy(kind: RecordKind<Agent>, key: { name: string }): Promise<Agent | undefined>;
}

/** An agent by id or name; no name has the form of an id. */
export function findAgent(records: AgentLookup, idOrName: string): Promise<Agent | undefined> {
  return isId(idOrName) ? records.find(AGENT, idOrName) : records.findBy(AGENT, { name: normaliseAgentName(idOrName) });
}

/** The same as of a moment. */
export function findAgentAsOf(
  history: RecordHistory,
  idOrName: string,
  asOf: Moment | undefined,
): Promise<Agent | undefined> {
  const records: AgentLookup = {
    find: (kind, id) => history.find(kind, id, asOf),
    findBy: (kind, key) => history.findBy(kind, key, asOf),
  };
  return findAgent(records, idOrName);
}

/** Many agents as they are now, in few statements; by the texts that name them, where there is such an agent. */
export async function findAgents(
  history: RecordHistory,
  idsOrNames: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Agent>> {
  const asked = [...idsOrNames];
  const names = new Map(asked.flatMap((text) => (isId(text) ? [] : [[text, normaliseAgentName(text)] as const])));
  const found = new Map<string, Agent>();
  for (const agent of await history.allAmong(AGENT, 'id', asked.filter(isId))) found.set(agent.id, agent);
  const agents = await history.allAmong(AGENT, 'name', [...new Set(names.values())]);
  const byName = new Map(agents.map((agent) => [agent.name, agent]));
  for (const [text, name] of names) {
    const agent = byName.get(name);
    if (agent !== undefined) found.set(text, agent);
  }
  return found;
}

/** The lookup that `findAgent` will make. */
export function agentLookup(idOrName: string): Lookup {
  return isId(idOrName) ? byId(AGENT, idOrName) : byKey(AGENT, 'name', normaliseAgentName(idOrName));
}

/** Replaces an agent's name in a filter by its id; a text that names no agent stays, and finds nothing. */
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

/** Whether a filter names its agent by id, or none. */
export function hasAgentId({ agentId }: { readonly agentId?: string }): boolean {
  return agentId === undefined || isId(agentId);
}

function isId(idOrName: string): boolean {
  return idOrName.startsWith(`${AGENT.idPrefix}_`);
}
