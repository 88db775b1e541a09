import { Injectable } from '@nestjs/common';
import { callerRefused, conflict, invalidField, requireFound, scopeMissing } from '../../core/errors/domain-error';
import { addDuration } from '../../core/values/duration';
import type { Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { byId } from '../../ledger/kinds/lookup';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Agent } from '../agents/agent.entity';
import { agentFor, agentLookup, findNamedAgent, requireReferencedAgent } from '../agents/find-agent';
import type { CreateDelegationRequest } from './dto/delegation.dto';
import { endDelegation, settleDelegation } from './delegation-changes';
import { DELEGATION, type Delegation, dueTime, isDelegationOver } from './delegation.entity';

/** Most delegations of one person that have not ended. */
const MAX_DELEGATIONS = 5;
const MAX_LENGTH = 'P90D';

/** Lets people who are away have others review in their place. */
@Injectable()
export class DelegationsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly records: RecordReader,
  ) {}

  /**
   * Creates a delegation, for the person alone.
   * @throws NOT_FOUND; PERMISSION_DENIED for others; VALIDATION_ERROR; CONFLICT for a machine, and for one too many
   */
  async create(caller: Caller, idOrName: string, request: CreateDelegationRequest): Promise<Delegation> {
    const { id: agentId } = await this.person(caller, idOrName, (id) => {
      if (id === undefined || caller.agentId !== id) throw callerRefused('not_this_agent');
    });
    return this.ledger.withLookups(agentLookup(request.to)).write(caller, async (transaction) => {
      requireTimes(request, transaction.now);
      const to = await requireSubstitute(transaction, agentId, request.to);
      const own = await transaction.findAll(DELEGATION, { agentId });
      const current = own.map((delegation) => settleDelegation(transaction, delegation));
      if (current.filter((delegation) => !isDelegationOver(delegation)).length >= MAX_DELEGATIONS)
        throw conflict(`A person has at most ${MAX_DELEGATIONS} delegations at a time. End one first.`);
      const { now } = transaction;
      const { from = now, until } = request;
      const status = from <= now ? ('active' as const) : ('waiting' as const);
      const times = { from, until, status };
      const record = { id: transaction.newId(DELEGATION), agentId, to: to.id, ...times, createdAt: now, endedAt: null };
      const note = { action: 'delegation.created', agentId };
      return transaction.insert(DELEGATION, { ...record, dueAt: dueTime(times) }, note);
    });
  }

  /**
   * Returns the id of the person whose delegations a caller may list. @throws NOT_FOUND; PERMISSION_DENIED; CONFLICT
   * for a machine
   */
  async personId(caller: Caller, idOrName: string): Promise<string> {
    const person = await this.person(caller, idOrName, (id) => {
      if (caller.agentId !== id && !caller.effectiveScopes.has('read')) throw scopeMissing(['read']);
    });
    return person.id;
  }

  /** @throws as `personId`; NOT_FOUND for the delegation of somebody else */
  async get(caller: Caller, idOrName: string, delegationId: string): Promise<Delegation> {
    const agentId = await this.personId(caller, idOrName);
    return requireOwn(await this.records.find(DELEGATION, delegationId), agentId);
  }

  /**
   * Ends a delegation, for the person or an admin. Does nothing if it is over. @throws NOT_FOUND; PERMISSION_DENIED for
   * others
   */
  async end(caller: Caller, idOrName: string, delegationId: string): Promise<Delegation> {
    const { id: agentId } = await this.person(caller, idOrName, (id) => {
      const isOwn = id !== undefined && caller.agentId === id;
      if (!isOwn && !caller.effectiveScopes.has('admin')) throw callerRefused('not_this_agent');
    });
    return this.ledger.withLookups(byId(DELEGATION, delegationId)).write(caller, async (transaction) => {
      const delegation = requireOwn(await transaction.find(DELEGATION, delegationId), agentId);
      const current = settleDelegation(transaction, delegation);
      return isDelegationOver(current) ? current : endDelegation(transaction, current);
    });
  }

  /** Reads the person outside the command, because the kind of an agent never changes. */
  private async person(caller: Caller, idOrName: string, requireMay: (id: string | undefined) => void): Promise<Agent> {
    const agent = agentFor(caller, await findNamedAgent(caller, this.records, idOrName), requireMay);
    if (agent.kind !== 'human') throw conflict(`The agent "${agent.name}" is a machine; only people delegate.`);
    return agent;
  }
}

function requireOwn(delegation: Delegation | undefined, agentId: string): Delegation {
  return requireFound(delegation?.agentId === agentId ? delegation : undefined, 'delegation');
}

/** @param now ledger time @throws VALIDATION_ERROR */
function requireTimes({ from, until }: CreateDelegationRequest, now: string): void {
  if (from !== undefined && from <= now) throw invalidField('from', 'must be in the future; left out, it is now');
  const start = from ?? now;
  const latest = addDuration(MAX_LENGTH, start);
  if (until <= start || until > latest)
    throw invalidField('until', `must be after the beginning, at most 90 days later: up to ${latest}`);
}

/** @throws VALIDATION_ERROR unless the substitute is another, active person */
async function requireSubstitute(transaction: LedgerTransaction, agentId: string, idOrName: string): Promise<Agent> {
  const to = await requireReferencedAgent(transaction, 'to', idOrName);
  if (to.id === agentId) throw invalidField('to', 'must be another person');
  if (to.kind !== 'human' || to.status !== 'active') throw invalidField('to', 'must be an active person');
  return to;
}
