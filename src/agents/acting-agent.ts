import { notThisAgent, ownAgent, scopeMissing } from '../errors/caller-refusal';
import { invalidField } from '../errors/domain-error';
import type { Caller } from '../ledger/caller';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import type { Agent } from './agent.entity';
import { findAgent } from './find-agent';

/** A caller bound to an agent can only act as that agent. @throws PERMISSION_DENIED */
export function requireActsAs({ agentId }: Pick<Caller, 'agentId'>, id: string | undefined): void {
  if (agentId !== null && agentId !== id) throw notThisAgent();
}

/**
 * The agent that a caller says it acts as, by id or name.
 * @throws PERMISSION_DENIED when the caller is bound to another; VALIDATION_ERROR when there is no such agent.
 */
export async function actingAgent(transaction: LedgerTransaction, field: string, idOrName: string): Promise<Agent> {
  const agent = await findAgent(transaction, idOrName);
  requireActsAs(transaction.caller, agent?.id);
  if (agent === undefined) throw invalidField(field, 'must be the id or the name of an existing agent');
  return agent;
}

/**
 * A caller bound to an agent must not change that agent, and only admins may change people.
 * @throws PERMISSION_DENIED
 */
export function requireMayChange(caller: Caller, { id, kind }: Pick<Agent, 'id' | 'kind'>): void {
  if (caller.agentId === id) throw ownAgent();
  requireMayKeep(caller, kind);
}

/**
 * Only admins may create people, who review: otherwise a caller that manages agents could create its own reviewer.
 * @throws PERMISSION_DENIED
 */
export function requireMayKeep({ grants }: Pick<Caller, 'grants'>, kind: Agent['kind']): void {
  if (kind === 'human' && !grants.has('admin')) throw scopeMissing(['admin']);
}
