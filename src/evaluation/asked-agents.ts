import type { Agent } from '../agents/agent.entity';
import { findAgentAsOf, findAgents } from '../agents/find-agent';
import type { FieldFault } from '../errors/domain-error';
import type { Moment, RecordHistory } from '../ledger/record-history';
import type { AgentSubject } from '../policies/patterns/subject';
import { subjectOf } from '../policies/subject-of';
import type { AskedPermission } from './asked-permission';

/** An agent, and how policies see it: worked out once for all questions about it. */
export interface KnownAgent {
  readonly agent: Agent;
  readonly subject: AgentSubject;
}

/** Agents by id or name, where there is such an agent. */
export type Agents = ReadonlyMap<string, KnownAgent>;

/** The agents that questions are about, as they are now or were at a moment. */
export async function agentsOf(
  history: RecordHistory,
  everybody: readonly AskedPermission['who'][],
  asOf?: Moment,
): Promise<Agents> {
  const named = new Set<string>();
  for (const who of everybody) if ('agent' in who) named.add(who.agent);
  // A single one shares its statement with other requests.
  const isEach = named.size === 1 || asOf !== undefined;
  const found = isEach ? await eachAgent(history, named, asOf) : await findAgents(history, named);
  const known = new Map<string, KnownAgent>();
  for (const [name, agent] of found) known.set(name, { agent, subject: subjectOf(agent) });
  return known;
}

/** False for an agent that does not exist. */
export function isKnown(who: AskedPermission['who'], agents: Agents): boolean {
  return !('agent' in who) || agents.has(who.agent);
}

/** The faults of questions about agents that do not exist. */
export function unknownAgentFaults(
  asked: readonly AskedPermission[],
  knows: (who: AskedPermission['who']) => boolean,
): FieldFault[] {
  const unknown = asked.flatMap(({ who }) => ('agent' in who && !knows(who) ? who.field : []));
  const message = 'must be the id or the name of an existing agent';
  return [...new Set(unknown)].map((field) => ({ field, message }));
}

async function eachAgent(
  history: RecordHistory,
  named: ReadonlySet<string>,
  asOf: Moment | undefined,
): Promise<ReadonlyMap<string, Agent>> {
  const found = new Map<string, Agent>();
  const find = async (name: string): Promise<void> => {
    const agent = await findAgentAsOf(history, name, asOf);
    if (agent !== undefined) found.set(name, agent);
  };
  await Promise.all(Array.from(named, find));
  return found;
}
