import { Injectable } from '@nestjs/common';
import { conflict, notFound, preconditionFailed } from '../errors/domain-error';
import type { Precondition } from '../http/conditional/precondition';
import type { Caller } from '../ledger/caller';
import type { EntryNote, LedgerTransaction } from '../ledger/ledger-transaction';
import { LedgerService } from '../ledger/ledger.service';
import { byKey } from '../ledger/lookup';
import type { Page, PageRequest } from '../ledger/record-page';
import { RecordReader } from '../ledger/record-reader';
import { changedFields, updated, withStatus } from './agent-changes';
import type { AgentUpdate } from './agent-changes';
import type { Agent, AgentStatus } from './agent.entity';
import { AGENT } from './agent.kind';
import type { CreateAgentRequest } from './dto/create-agent.request';
import { agentLookup, findAgent } from './find-agent';

@Injectable()
export class AgentsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
  ) {}

  list(request: PageRequest): Promise<Page<Agent>> {
    return this.reader.page(AGENT, request);
  }

  /** @throws NOT_FOUND */
  async get(idOrName: string): Promise<Agent> {
    const agent = await findAgent(this.reader, idOrName);
    if (agent === undefined) throw notFound('agent');
    return agent;
  }

  /** @throws CONFLICT when the name is taken. */
  create(caller: Caller, request: CreateAgentRequest): Promise<Agent> {
    const { name, description = '', capabilities = [], roles = [] } = request;
    return this.ledger.expecting(byKey(AGENT, 'name', name)).write(caller, async (transaction) => {
      const { now } = transaction;
      if ((await transaction.findBy(AGENT, { name })) !== undefined) throw nameTaken(name);
      const id = transaction.newId(AGENT);
      const times = { createdAt: now, updatedAt: now, revision: 1 };
      const agent = { id, name, description, capabilities, roles, status: 'active', ...times } as const;
      return transaction.insert(AGENT, agent, noteOn(id, 'agent.created'));
    });
  }

  /** An update that changes nothing leaves no entry. @throws NOT_FOUND, PRECONDITION_FAILED */
  update(caller: Caller, idOrName: string, precondition: Precondition, update: AgentUpdate): Promise<Agent> {
    return this.ledger.expecting(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = await existing(transaction, idOrName);
      if (!precondition.matches(agent.revision)) throw preconditionFailed();
      const fields = changedFields(agent, update);
      if (fields.length === 0) return agent;
      const note = { ...noteOn(agent.id, 'agent.updated'), details: { fields } };
      return transaction.update(AGENT, updated(agent, update, transaction.now), note);
    });
  }

  /** From this commit on the agent executes, proposes and approves nothing. Repeating changes nothing. @throws NOT_FOUND */
  suspend(caller: Caller, idOrName: string, reason: string | null): Promise<Agent> {
    return this.changeStatus(caller, idOrName, 'suspended', 'agent.suspended', reason);
  }

  /** Repeating changes nothing. @throws NOT_FOUND */
  resume(caller: Caller, idOrName: string, reason: string | null): Promise<Agent> {
    return this.changeStatus(caller, idOrName, 'active', 'agent.resumed', reason);
  }

  private changeStatus(
    caller: Caller,
    idOrName: string,
    status: AgentStatus,
    action: string,
    reason: string | null,
  ): Promise<Agent> {
    return this.ledger.expecting(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = await existing(transaction, idOrName);
      if (agent.status === status) return agent;
      return transaction.update(AGENT, withStatus(agent, status, transaction.now), {
        ...noteOn(agent.id, action),
        reason,
      });
    });
  }
}

async function existing(transaction: LedgerTransaction, idOrName: string): Promise<Agent> {
  const agent = await findAgent(transaction, idOrName);
  if (agent === undefined) throw notFound('agent');
  return agent;
}

function nameTaken(name: string): Error {
  return conflict(`An agent with the name "${name}" exists already; a name is given once.`);
}

function noteOn(agentId: string, action: string): EntryNote {
  return { action, agentId };
}
