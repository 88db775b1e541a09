import { notThisAgent, ownAgent, scopeMissing } from '../errors/caller-refusal';
import { invalidField } from '../errors/domain-error';
import type { Caller } from '../ledger/caller';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import type { Agent } from './agent.entity';
import { findAgent } from './find-agent';

/** Who is bound to an agent acts as no other. @throws PERMISSION_DENIED */
export function requireActsAs({ agentId }: Pick<Caller, 'agentId'>, id: string | undefined): void {
  if (agentId !== null && agentId !== id) throw notThisAgent();
}

/**
 * The agent that a caller says it acts as, by its id or its name.
 * @throws PERMISSION_DENIED where the caller is bound to another; VALIDATION_ERROR when there is none.
 */
export async function actingAgent(transaction: LedgerTransaction, field: string, idOrName: string): Promise<Agent> {
  const agent = await findAgent(transaction, idOrName);
  requireActsAs(transaction.caller, agent?.id);
  if (agent === undefined) throw invalidField(field, 'must be the id or the name of an existing agent');
  return agent;
}

/** Who is bound to an agent does not change it, and people are changed by admins alone. @throws PERMISSION_DENIED */
export function requireMayChange(caller: Caller, { id, kind }: Pick<Agent, 'id' | 'kind'>): void {
  if (caller.agentId === id) throw ownAgent();
  requireMayKeep(caller, kind);
}

/** People who review are made by admins alone: else who keeps agents could make its own reviewer. @throws PERMISSION_DENIED */
export function requireMayKeep({ grants }: Pick<Caller, 'grants'>, kind: Agent['kind']): void {
  if (kind === 'human' && !grants.has('admin')) throw scopeMissing(['admin']);
}
