import { conflict, type DomainError, invalidField, scopeMissing } from '../../core/errors/domain-error';
import type { LedgerTransaction } from '../../ledger/commands/ledger-transaction';
import { changedMembers } from '../../ledger/records/changed-members';
import { type Agent, AGENT, nextRevision } from './agent.entity';
import type { CreateAgentRequest } from './dto/agent.dto';
import { requireMayChange, requireMayKeep } from './find-agent';
import { type RolesByGroup, requireManagedRolesStay } from './managed-roles';
import { isInReach, requireTeamRoles, writtenTeam } from './team';

export const AGENT_CHANGES = ['create', 'update', 'keep'] as const;

/** The change that made an agent match its declaration. */
export interface DeclaredAgentChange {
  readonly change: (typeof AGENT_CHANGES)[number];
  readonly agent: Agent;
}

const DECLARED = ['description', 'capabilities', 'roles', 'team'] as const;

/**
 * @throws CONFLICT if the name is taken; PERMISSION_DENIED for a person, without the scope `admin`, and for another
 * team than the caller's
 */
export async function insertAgent(transaction: LedgerTransaction, request: CreateAgentRequest): Promise<Agent> {
  const { name, kind = 'machine', roles = [] } = request;
  requireMayKeep(transaction.caller, kind);
  requireTeamRoles(transaction.caller, [], roles);
  const team = kind === 'machine' ? writtenTeam(transaction.caller, request.team) : null;
  if ((await transaction.findBy(AGENT, { name })) !== undefined) throw nameTaken(name);
  return addAgent(transaction, { ...request, team });
}

/** @param directory id of a person that a directory creates */
export function addAgent(
  transaction: LedgerTransaction,
  request: CreateAgentRequest,
  directory: string | null = null,
): Agent {
  const { now } = transaction;
  const { name, kind = 'machine', description = '', capabilities = [], roles = [], team = null } = request;
  const id = transaction.newId(AGENT);
  const times = { createdAt: now, updatedAt: now, revision: 1 };
  const state = { status: 'active', observeUntil: null, slackId: null, directory, team } as const;
  const agent = { id, name, kind, description, capabilities, roles, ...state, ...times };
  return transaction.insert(AGENT, agent, { action: 'agent.created', agentId: id });
}

/**
 * Registers or changes agents as declared; members that are left out get their defaults, except the team, which stays.
 * An agent that matches its declaration stays unchanged.
 * @throws PERMISSION_DENIED if an agent would change without the scope `agents`, or a person without `admin`;
 * VALIDATION_ERROR if an agent's kind would change; CONFLICT for roles that the directory manages, and if another team
 * has the name
 * @param team team of new agents that name none
 */
export async function declareAgents(
  transaction: LedgerTransaction,
  requests: readonly CreateAgentRequest[],
  { directoryRoles, team }: { readonly directoryRoles: RolesByGroup; readonly team: string | null },
): Promise<DeclaredAgentChange[]> {
  const names = requests.map(({ name }) => [name]);
  const agents = new Map((await transaction.findAmong(AGENT, ['name'], names)).map((agent) => [agent.name, agent]));
  const changes: DeclaredAgentChange[] = [];
  for (const [index, request] of requests.entries()) {
    const agent = agents.get(request.name);
    if (agent === undefined) {
      requireScope(transaction);
      const newAgent = { ...request, team: request.team ?? team };
      changes.push({ change: 'create', agent: await insertAgent(transaction, newAgent) });
    } else {
      requireManagedRolesStay(agent, request.roles ?? [], directoryRoles);
      changes.push(changeAgent(transaction, agent, request, index));
    }
  }
  return changes;
}

function changeAgent(
  transaction: LedgerTransaction,
  agent: Agent,
  request: CreateAgentRequest,
  index: number,
): DeclaredAgentChange {
  const { kind = 'machine', description = '', capabilities = [], roles = [] } = request;
  const { caller } = transaction;
  if (!isInReach(caller, agent)) throw nameTaken(agent.name);
  if (kind !== agent.kind)
    throw invalidField(`agents[${index}].kind`, `must be ${agent.kind}: the kind of an agent never changes`);
  const team = typeof request.team === 'string' ? writtenTeam(caller, request.team) : undefined;
  const changes = changedMembers(agent, { description, capabilities, roles, team }, DECLARED);
  const fields = Object.keys(changes);
  if (fields.length === 0) return { change: 'keep', agent };
  requireScope(transaction);
  requireMayChange(caller, agent);
  requireTeamRoles(caller, agent.roles, roles);
  if (changes.team !== undefined && !caller.effectiveScopes.has('admin')) throw scopeMissing(['admin']);
  const changed = { ...agent, ...changes, ...nextRevision(agent, transaction.now) };
  const note = { action: 'agent.updated', agentId: agent.id, details: { fields } };
  return { change: 'update', agent: transaction.update(AGENT, changed, note) };
}

function nameTaken(name: string): DomainError {
  return conflict(`An agent with the name "${name}" exists already; names are unique.`);
}

function requireScope({ caller }: LedgerTransaction): void {
  if (!caller.effectiveScopes.has('agents')) throw scopeMissing(['agents']);
}
