import type { Agent } from '../agents/agent.entity';
import { findAgent } from '../agents/find-agent';
import { invalid } from '../../core/errors/domain-error';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import {
  type GivenPrincipal,
  namedPeople,
  type Principal,
  principalOf,
  unknownPersonFault,
} from '../permissions/principals';

/**
 * For whom the caller's request is made, by the agents as they are now.
 * @throws PERMISSION_DENIED when the caller does not vouch for it; VALIDATION_ERROR for an unknown person.
 */
export async function foundPrincipal(
  transaction: LedgerTransaction,
  given: GivenPrincipal | null,
): Promise<Principal | null> {
  const people = new Map<string, Agent>();
  for (const name of namedPeople(transaction.caller, given)) {
    const agent = await findAgent(transaction, name);
    if (agent !== undefined) people.set(name, agent);
  }
  const principal = principalOf(transaction.caller, given, people);
  if (principal === undefined) throw invalid([unknownPersonFault('onBehalfOf')]);
  return principal;
}
