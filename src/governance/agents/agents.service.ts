import { Injectable, type OnModuleInit } from '@nestjs/common';
import { conflict, requireFound, invalidField, scopeMissing } from '../../core/errors/domain-error';
import type { Precondition } from '../../http/conditional/precondition';
import type { Caller } from '../../ledger/caller';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { byKey } from '../../ledger/lookup';
import { changedMembers } from '../../ledger/records/changed-members';
import { agentLookup, findAgent, requireMayChange, requireMayKeep, requireObservable } from './find-agent';
import { type Agent, AGENT, type AgentStatus, nextRevision } from './agent.entity';
import type { CreateAgentRequest, UpdateAgentRequest } from './dto/agent.dto';
import { RowProjection } from '../../ledger/projections';
import { RecordReader } from '../../ledger/reading/record-reader';

@Injectable()
export class AgentsService {
  constructor(private readonly ledger: LedgerService) {}

  /** @throws CONFLICT when the name is taken. */
  create(caller: Caller, request: CreateAgentRequest): Promise<Agent> {
    const { name, kind = 'machine', description = '', capabilities = [], roles = [] } = request;
    return this.ledger.withLookups(byKey(AGENT, 'name', name)).write(caller, async (transaction) => {
      const { now } = transaction;
      requireMayKeep(caller, kind);
      if ((await transaction.findBy(AGENT, { name })) !== undefined)
        throw conflict(`An agent with the name "${name}" exists already; names are unique.`);
      const id = transaction.newId(AGENT);
      const times = { createdAt: now, updatedAt: now, revision: 1 };
      const state = { status: 'active', observeUntil: null, slackId: null } as const;
      const agent = { id, name, kind, description, capabilities, roles, ...state, ...times };
      return transaction.insert(AGENT, agent, { action: 'agent.created', agentId: id });
    });
  }

  /** An update that changes nothing writes no entry. @throws NOT_FOUND, PRECONDITION_FAILED, VALIDATION_ERROR */
  update(caller: Caller, idOrName: string, precondition: Precondition, update: UpdateAgentRequest): Promise<Agent> {
    return this.ledger.withLookups(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = requireFound(await findAgent(transaction, idOrName), 'agent');
      requireMayChange(caller, agent);
      const { observeUntil } = update;
      // Only admins may let an agent act without a policy.
      if (observeUntil !== undefined && !caller.effectiveScopes.has('admin')) throw scopeMissing(['admin']);
      precondition.require(agent.revision);
      if (observeUntil !== undefined) requireObservable(agent, observeUntil, this.ledger.clockTime);
      await requireMayBeInSlack(transaction, agent, update);
      const changes = changedMembers(agent, update, CHANGEABLE);
      const fields = Object.keys(changes);
      if (fields.length === 0) return agent;
      const changed = { ...agent, ...changes, ...nextRevision(agent, transaction.now) };
      return transaction.update(AGENT, changed, { action: 'agent.updated', agentId: agent.id, details: { fields } });
    });
  }

  /** From this commit on a suspended agent cannot execute, propose or approve anything. Idempotent. @throws NOT_FOUND */
  setStatus(caller: Caller, idOrName: string, status: AgentStatus, reason: string | null): Promise<Agent> {
    const action = status === 'suspended' ? 'agent.suspended' : 'agent.resumed';
    return this.ledger.withLookups(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = requireFound(await findAgent(transaction, idOrName), 'agent');
      requireMayChange(caller, agent);
      if (agent.status === status) return agent;
      const changed = { ...agent, status, ...nextRevision(agent, transaction.now) };
      return transaction.update(AGENT, changed, { action, agentId: agent.id, reason });
    });
  }
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

const CHANGEABLE = ['description', 'capabilities', 'roles', 'observeUntil', 'slackId'] as const;

/** `now` is always the agent's current state, whichever process changes it. */
export interface CachedAgent {
  readonly now: Agent;
}

/**
 * Knows without a query which agents are suspended, which every request with a key bound to an agent checks. Keeps agents up to
 * date while somebody holds them: for each stream and each waiting request of a token, it is checked several times a second
 * whether the token may still act as its agent.
 */
@Injectable()
export class AgentCache implements OnModuleInit {
  private readonly suspended = new Set<string>();
  private readonly watched = new Map<string, WeakRef<{ now: Agent }>>();
  private readonly dropped = new FinalizationRegistry<string>((id) => this.forget(id));
  /** How often agents have changed. */
  private changes = 0;
  /** Follows changes by other processes; to be caught up with before a question is answered. */
  readonly memory = new RowProjection<Agent>({
    kind: AGENT,
    status: 'suspended',
    actions: ['agent.suspended', 'agent.resumed', 'agent.updated'],
    keep: (agents) => {
      this.changes += 1;
      for (const agent of agents) this.keep(agent);
    },
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.ledger.follow(this.memory);
  }

  isSuspended(id: string): boolean {
    return this.suspended.has(id);
  }

  /** The agent as it is now, kept up to date for as long as the caller holds the result. */
  async watch(idOrName: string): Promise<CachedAgent | undefined> {
    for (;;) {
      const { changes } = this;
      const agent = await findAgent(this.reader, idOrName);
      if (agent === undefined) return undefined;
      // If an agent changed meanwhile, what was read may be outdated, so it is read again.
      if (changes === this.changes) return this.hold(agent);
    }
  }

  /** Resolves when every change is known that another process made before the call. */
  catchUp(): Promise<void> {
    return this.ledger.catchUp(this.memory);
  }

  private keep(agent: Agent): void {
    if (agent.status === 'suspended') this.suspended.add(agent.id);
    else this.suspended.delete(agent.id);
    const held = this.held(agent.id);
    if (held !== undefined) held.now = agent;
  }

  private hold(agent: Agent): CachedAgent {
    const held = this.held(agent.id);
    if (held === undefined) {
      const added = { now: agent };
      this.watched.set(agent.id, new WeakRef(added));
      this.dropped.register(added, agent.id);
      return added;
    }
    // Another process may have changed it just now.
    if (agent.revision > held.now.revision) held.now = agent;
    return held;
  }

  private held(id: string): { now: Agent } | undefined {
    return this.watched.get(id)?.deref();
  }

  private forget(id: string): void {
    if (this.held(id) === undefined) this.watched.delete(id);
  }
}
