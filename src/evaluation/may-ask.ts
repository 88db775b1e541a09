import { notThisAgent } from '../errors/caller-refusal';
import type { Caller } from '../ledger/caller';
import type { Agents } from './asked-agents';
import type { AskedPermission } from './asked-permission';

/**
 * A caller that is bound to an agent and may not read can only ask for that agent.
 * @param agents of the questions, read only for such a caller.
 * @throws PERMISSION_DENIED
 */
export async function requireMayAsk(
  { agentId, grants }: Caller,
  everybody: readonly AskedPermission['who'][],
  agents: () => Agents | Promise<Agents>,
): Promise<void> {
  if (agentId === null || grants.has('read')) return;
  const known = await agents();
  if (!everybody.every((who) => 'agent' in who && known.get(who.agent)?.agent.id === agentId)) throw notThisAgent();
}
