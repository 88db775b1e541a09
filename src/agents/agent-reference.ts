import { invalidField, permissionDenied, type DomainError } from '../errors/domain-error';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import type { Agent } from './agent.entity';
import { findAgent } from './find-agent';

/** The agent that a field of a body names by id or name. @throws VALIDATION_ERROR when there is none. */
export async function referencedAgent(transaction: LedgerTransaction, field: string, idOrName: string): Promise<Agent> {
  const agent = await findAgent(transaction, idOrName);
  if (agent === undefined) throw invalidField(field, 'must be the id or the name of an existing agent');
  return agent;
}

/** Why a suspended agent is refused; null for an active one. */
export function suspension(agent: Agent): DomainError | null {
  if (agent.status === 'active') return null;
  return permissionDenied('agent_suspended', `The agent "${agent.name}" is suspended. Resume it before it acts again.`);
}
