import { Injectable } from '@nestjs/common';
import { conflict, found, invalidField } from '../../core/errors/domain-error';
import type { Precondition } from '../../http/conditional/precondition';
import type { Caller } from '../../ledger/caller';
import type { EntryNote, LedgerTransaction } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { byKey } from '../../ledger/lookup';
import { changedMembers } from '../../ledger/records/changed-members';
import {
  agentLookup,
  findAgent,
  requireMayChange,
  requireMayKeep,
  requireMayObserve,
  requireObservable,
} from './find-agent';
import { type Agent, AGENT, type AgentStatus, nextRevision } from './agent.entity';
import type { CreateAgentRequest, UpdateAgentRequest } from './dto/agent.dto';

@Injectable()
export class AgentsService {
  constructor(private readonly ledger: LedgerService) {}

  /** @throws CONFLICT when the name is taken. */
  create(caller: Caller, request: CreateAgentRequest): Promise<Agent> {
    const { name, kind = 'machine', description = '', capabilities = [], roles = [] } = request;
    return this.ledger.prefetching(byKey(AGENT, 'name', name)).write(caller, async (transaction) => {
      const { now } = transaction;
      requireMayKeep(caller, kind);
      if ((await transaction.findBy(AGENT, { name })) !== undefined) throw nameTaken(name);
      const id = transaction.newId(AGENT);
      const times = { createdAt: now, updatedAt: now, revision: 1 };
      const state = { status: 'active', observeUntil: null, slackId: null } as const;
      const agent = { id, name, kind, description, capabilities, roles, ...state, ...times };
      return transaction.insert(AGENT, agent, noteOn(id, 'agent.created'));
    });
  }

  /** An update that changes nothing writes no entry. @throws NOT_FOUND, PRECONDITION_FAILED, VALIDATION_ERROR */
  update(caller: Caller, idOrName: string, precondition: Precondition, update: UpdateAgentRequest): Promise<Agent> {
    return this.ledger.prefetching(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = await existing(transaction, idOrName);
      requireMayChange(caller, agent);
      const { observeUntil } = update;
      if (observeUntil !== undefined) requireMayObserve(caller);
      precondition.require(agent.revision);
      if (observeUntil !== undefined) requireObservable(agent, observeUntil, this.ledger.clockTime);
      await requireMayBeInSlack(transaction, agent, update);
      const changes = changedMembers(agent, update, CHANGEABLE);
      const fields = Object.keys(changes);
      if (fields.length === 0) return agent;
      const changed = { ...agent, ...changes, ...nextRevision(agent, transaction.now) };
      return transaction.update(AGENT, changed, { ...noteOn(agent.id, 'agent.updated'), details: { fields } });
    });
  }

  /** From this commit on a suspended agent cannot execute, propose or approve anything. Idempotent. @throws NOT_FOUND */
  setStatus(caller: Caller, idOrName: string, status: AgentStatus, reason: string | null): Promise<Agent> {
    const action = status === 'suspended' ? 'agent.suspended' : 'agent.resumed';
    return this.ledger.prefetching(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = await existing(transaction, idOrName);
      requireMayChange(caller, agent);
      if (agent.status === status) return agent;
      const changed = { ...agent, status, ...nextRevision(agent, transaction.now) };
      return transaction.update(AGENT, changed, { ...noteOn(agent.id, action), reason });
    });
  }
}

async function existing(transaction: LedgerTransaction, idOrName: string): Promise<Agent> {
  return found(await findAgent(transaction, idOrName), 'agent');
}

function nameTaken(name: string): Error {
  return conflict(`An agent with the name "${name}" exists already; names are unique.`);
}

/** @throws VALIDATION_ERROR for a machine; CONFLICT if another agent has the id. */
async function requireMayBeInSlack(
  transaction: LedgerTransaction,
  { id, kind }: Agent,
  { slackId = null }: UpdateAgentRequest,
): Promise<void> {
  if (slackId === null) return;
  if (kind !== 'human') throw invalidField('slackId', 'must be left out: only people are in Slack');
  const others = await transaction.findAll(AGENT, { slackId });
  if (others.some((other) => other.id !== id)) throw conflict(`Another agent has the Slack id ${slackId} already.`);
}

function noteOn(agentId: string, action: string): EntryNote {
  return { action, agentId };
}

const CHANGEABLE = ['description', 'capabilities', 'roles', 'observeUntil', 'slackId'] as const;
