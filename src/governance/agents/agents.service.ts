import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { conflict, invalidField, managedByDirectory, requireFound, scopeMissing } from '../../core/errors/domain-error';
import type { Precondition } from '../../http/request/precondition';
import type { Caller } from '../../ledger/kinds/caller';
import type { LedgerTransaction, ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { byKey } from '../../ledger/kinds/lookup';
import { changedMembers } from '../../ledger/records/changed-members';
import { insertAgent } from './declared-agents';
import { DirectoryUsers, forgetUser, saveUser } from './directory-users';
import { requireManagedRolesStay } from './managed-roles';
import { agentLookup, findAgent, findNamedAgent, requireMayChange, requireObservable } from './find-agent';
import { NOT_IN_TEAM, requireTeamRoles } from './team';
import { type Agent, AGENT, type AgentStatus, nextRevision } from './agent.entity';
import type { CreateAgentRequest, UpdateAgentRequest } from './dto/agent.dto';
import { RowProjection } from '../../ledger/head/projections';
import { RecordReader } from '../../ledger/reading/record-reader';

@Injectable()
export class AgentsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly directoryUsers: DirectoryUsers,
    private readonly configuration: Configuration,
  ) {}

  /** @throws CONFLICT if the name is taken */
  create(caller: Caller, request: CreateAgentRequest): Promise<Agent> {
    return this.ledger
      .withLookups(byKey(AGENT, 'name', request.name))
      .write(caller, (transaction) => insertAgent(transaction, request));
  }

  /** Updates an agent; writes no entry if nothing changes. @throws NOT_FOUND; PRECONDITION_FAILED; VALIDATION_ERROR */
  update(caller: Caller, idOrName: string, precondition: Precondition, update: UpdateAgentRequest): Promise<Agent> {
    return this.ledger.withLookups(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = requireFound(await findNamedAgent(caller, transaction, idOrName), 'agent');
      requireMayChange(caller, agent);
      const { observeUntil, team } = update;
      requireTeamRoles(caller, agent.roles, update.roles);
      // Only admins may let an agent act without a policy, or move it to another team.
      if ((observeUntil !== undefined || team !== undefined) && !caller.effectiveScopes.has('admin'))
        throw scopeMissing(['admin']);
      precondition.require(agent.revision);
      if (observeUntil !== undefined) requireObservable(agent, observeUntil, new Date(transaction.now));
      if (agent.kind === 'human' && typeof team === 'string') throw invalidField('team', NOT_IN_TEAM);
      await requireMayBeInSlack(transaction, agent, update);
      await this.bindToDirectory(transaction, agent, update);
      requireManagedRolesStay(agent, update.roles ?? agent.roles, this.configuration.directoryRoles);
      const changes = changedMembers(agent, update, CHANGEABLE);
      const fields = Object.keys(changes);
      if (fields.length === 0) return agent;
      const changed = { ...agent, ...changes, ...nextRevision(agent, transaction.now) };
      return transaction.update(AGENT, changed, { action: 'agent.updated', agentId: agent.id, details: { fields } });
    });
  }

  /**
   * Suspends or resumes an agent. From this commit on, a suspended agent cannot execute, propose or approve.
   * Idempotent. @throws NOT_FOUND
   */
  setStatus(caller: Caller, idOrName: string, status: AgentStatus, reason: string | null): Promise<Agent> {
    const action = status === 'suspended' ? 'agent.suspended' : 'agent.resumed';
    return this.ledger.withLookups(agentLookup(idOrName)).write(caller, async (transaction) => {
      const agent = requireFound(await findNamedAgent(caller, transaction, idOrName), 'agent');
      requireMayChange(caller, agent);
      const isHeldAnew = await this.holdInDirectory(transaction, agent, status);
      const note = { action, agentId: agent.id, reason };
      if (agent.status === status && isHeldAnew) transaction.record(AGENT, agent, note);
      if (agent.status === status) return agent;
      const changed = { ...agent, status, ...nextRevision(agent, transaction.now) };
      return transaction.update(AGENT, changed, note);
    });
  }

  /**
   * Notes that somebody other than the directory suspends or resumes a person. @returns true if the directory had
   * already suspended the person @throws CONFLICT if the directory has suspended or removed a person to be resumed
   */
  private async holdInDirectory(
    transaction: ServiceTransaction,
    { id, directory, status: before }: Agent,
    status: AgentStatus,
  ): Promise<boolean> {
    const user = directory === null ? undefined : await this.directoryUsers.findBy('agentId', id);
    if (user === undefined) return false;
    if (status === 'active' && (user.isActive === 0 || user.isDeleted === 1)) throw managedByDirectory('The status');
    const isHeld = status === 'suspended' ? 1 : 0;
    if (user.isHeld === isHeld) return false;
    transaction.writeWithoutEntry(saveUser({ ...user, isHeld }));
    return isHeld === 1 && before === 'suspended';
  }

  /** @throws VALIDATION_ERROR for a machine; CONFLICT for another's id, and while the person is in the directory. */
  private async bindToDirectory(
    transaction: ServiceTransaction,
    agent: Agent,
    { directory }: UpdateAgentRequest,
  ): Promise<void> {
    if (directory === undefined || directory === agent.directory) return;
    if (directory !== null && agent.kind !== 'human')
      throw invalidField('directory', 'must be left out: only people come from a directory');
    const user = agent.directory === null ? undefined : await this.directoryUsers.findBy('agentId', agent.id);
    if (user?.isDeleted === 0) throw managedByDirectory('`directory`');
    if (directory !== null && (await transaction.findAll(AGENT, { directory })).length > 0)
      throw conflict('Another agent has this id in the directory already.');
    if (user !== undefined) transaction.writeWithoutEntry(forgetUser(agent.id));
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

const CHANGEABLE = ['description', 'capabilities', 'roles', 'observeUntil', 'slackId', 'directory', 'team'] as const;

/**
 * Returns an agent as it is now, even if another process has changed it. Undefined if thousands of agents have changed
 * since the last call, so that its state is unknown.
 */
export type CurrentAgent = () => Agent | undefined;

/** Most changed agents that are remembered. */
const MAX_CHANGED = 10_000;

/**
 * Knows without a query which agents are suspended, and how agents have changed lately. Every request with a key bound
 * to an agent needs the former. The service checks the latter several times a second for each stream and each waiting
 * request of a token, because the token may no longer act as its agent.
 */
@Injectable()
export class AgentCache implements OnModuleInit {
  private readonly suspended = new Set<string>();
  /** Changed agents by id; the last changed one comes last. */
  private readonly changed = new Map<string, Agent>();
  /** Number of changes of agents. */
  private changes = 0;
  /** Follows changes by other processes; must catch up before a question is answered. */
  readonly memory = new RowProjection<Agent>({
    kind: AGENT,
    status: 'suspended',
    actions: ['agent.suspended', 'agent.resumed', 'agent.updated'],
    keep: (agents) => agents.forEach((agent) => this.keep(agent)),
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

  async watch(idOrName: string): Promise<CurrentAgent | undefined> {
    // Counted before the read, whose result may be outdated when it arrives.
    let { changes } = this;
    let agent = await findAgent(this.reader, idOrName);
    if (agent === undefined) return undefined;
    return () => {
      if (agent === undefined || this.changes - changes > MAX_CHANGED) return (agent = undefined);
      const changed = this.changed.get(agent.id);
      if (changed !== undefined && changed.revision > agent.revision) agent = changed;
      changes = this.changes;
      return agent;
    };
  }

  /** Resolves when the changes that other processes made before the call are known. */
  catchUp(): Promise<void> {
    return this.ledger.catchUp(this.memory);
  }

  private keep(agent: Agent): void {
    if (agent.status === 'suspended') this.suspended.add(agent.id);
    else this.suspended.delete(agent.id);
    this.changes += 1;
    this.changed.delete(agent.id);
    this.changed.set(agent.id, agent);
    const [oldest] = this.changed.keys();
    if (this.changed.size > MAX_CHANGED && oldest !== undefined) this.changed.delete(oldest);
  }
}
