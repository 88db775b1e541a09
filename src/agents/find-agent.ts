import { byId, byKey, type Lookup } from '../ledger/lookup';
import type { RecordKind } from '../ledger/record-kind';
import type { Agent } from './agent.entity';
import { AGENT } from './agent.kind';
import { normaliseAgentName } from './agent-name';

/** What looks up agents: a command's transaction, or the reader. */
interface AgentLookup {
  find(kind: RecordKind<Agent>, id: string): Promise<Agent | undefined>;
  findBy(kind: RecordKind<Agent>, key: { name: string }): Promise<Agent | undefined>;
}

/** An agent by its id or its name; no name begins like an id. */
export function findAgent(records: AgentLookup, idOrName: string): Promise<Agent | undefined> {
  return isId(idOrName) ? records.find(AGENT, idOrName) : records.findBy(AGENT, { name: normaliseAgentName(idOrName) });
}

/** What `findAgent` will look up. */
export function agentLookup(idOrName: string): Lookup {
  return isId(idOrName) ? byId(AGENT, idOrName) : byKey(AGENT, 'name', normaliseAgentName(idOrName));
}

function isId(idOrName: string): boolean {
  return idOrName.startsWith(`${AGENT.idPrefix}_`);
}
