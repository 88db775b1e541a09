import { notThisAgent } from '../errors/caller-refusal';
import type { Caller } from '../ledger/caller';
import type { Agents } from './asked-agents';
import type { AskedPermission } from './asked-permission';

/** A caller that is bound to an agent and may not read can only ask for that agent. @throws PERMISSION_DENIED */
export function requireMayAsk(caller: Caller, everybody: readonly AskedPermission['who'][], agents: Agents): void {
  const { agentId } = caller;
  if (mayAskForAll(caller)) return;
  if (!everybody.every((who) => 'agent' in who && agents.get(who.agent)?.agent.id === agentId)) throw notThisAgent();
}

export function mayAskForAll({ agentId, grants }: Caller): boolean {
  return agentId === null || grants.has('read');
}
