import { Injectable } from '@nestjs/common';
import { requireFound, requirePresent, scimFault } from '../../core/errors/domain-error';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import type { Caller } from '../../ledger/kinds/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { AgentEmails, emailChange } from '../agents/agent-emails';
import { type Agent, AGENT, nextRevision } from '../agents/agent.entity';
import { normaliseAgentName } from '../agents/agent-name';
import { addAgent } from '../agents/declared-agents';
import { type DirectoryUser, DirectoryUsers, saveUser, type UserFilter, userNameKey } from '../agents/directory-users';
import { PASSKEY, PASSKEY_REMOVED } from '../passkeys/passkey.entity';
import { leaveGroups } from './directory-groups';
import { DirectoryRoles } from './directory-roles';
import { userFault } from './person-rules';
import type { ScimUser } from './scim-schema';

/** A person as the directory knows it. */
export interface DirectoryPerson {
  readonly user: DirectoryUser;
  readonly email: string | null;
}

/** Most numbers that are tried after a name that is taken. */
const MAX_NAMESAKES = 1_000;

/** Makes, changes and suspends people as their directory says. */
@Injectable()
export class DirectoryPeople {
  constructor(
    private readonly ledger: LedgerService,
    private readonly users: DirectoryUsers,
    private readonly emails: AgentEmails,
    private readonly roles: DirectoryRoles,
  ) {}

  /** @throws NOT_FOUND if the directory has removed the person, or never had it */
  async get(id: string): Promise<DirectoryPerson> {
    const user = await this.requireUser(id);
    return { user, email: await this.emails.emailOf({ id }) };
  }

  async page(
    filter: UserFilter,
    bounds: Readonly<Record<'offset' | 'limit', number>>,
  ): Promise<{ readonly people: readonly DirectoryPerson[]; readonly total: number }> {
    const { rows, total } = await this.users.page(filter, bounds);
    const emails = await this.emails.emailsOf(rows.map(({ agentId }) => agentId));
    return { people: rows.map((user) => ({ user, email: emails.get(user.agentId) ?? null })), total };
  }

  /**
   * Creates a person. One that the directory removed comes back as the same agent, and one that an admin has bound to
   * the id is taken over.
   * @throws VALIDATION_ERROR; CONFLICT for an id or a name that is taken
   */
  create(caller: Caller, input: ScimUser): Promise<DirectoryPerson> {
    requireValid(input);
    return this.ledger.write(caller, async (transaction) => {
      const { now } = transaction;
      const before = await this.users.findBy('externalId', input.externalId);
      if (before?.isDeleted === 0) throw scimFault('uniqueness', 'A user with this externalId exists already.');
      await this.requireFreeUserName(input.userName, before?.agentId);
      const agent = await this.agentFor(transaction, input, before);
      const isHeld = before?.isHeld ?? (agent.status === 'suspended' ? 1 : 0);
      const times = { createdAt: before?.createdAt ?? now, updatedAt: now };
      const user = {
        agentId: agent.id,
        isHeld,
        isDeleted: 0,
        ...textsOf(input),
        isActive: activity(input, 1),
        ...times,
      };
      transaction.writeWithoutEntry(saveUser(user));
      const email = input.email ?? (await this.emails.emailOf(agent));
      if (input.email !== undefined) this.setEmail(transaction, agent.id, input.email);
      // A person who comes back is in no group, so has no roles that follow groups.
      transaction.writeWithoutEntry(leaveGroups(agent.id));
      withStatus(transaction, this.roles.setRoles(transaction, agent, []), user);
      return { user, email };
    });
  }

  /**
   * Changes a person; writes nothing if nothing changes.
   * @param inputFor gives the person's new members. It sees the person in the command: another replica may have changed
   *   it since.
   * @throws NOT_FOUND; VALIDATION_ERROR; CONFLICT
   */
  change(
    caller: Caller,
    id: string,
    inputFor: (person: DirectoryPerson) => ScimUser | Promise<ScimUser>,
  ): Promise<DirectoryPerson> {
    return this.ledger.write(caller, async (transaction) => {
      const person = await this.get(id);
      const { user: before, email: emailBefore } = person;
      const input = await inputFor(person);
      requireValid(input);
      if (input.externalId !== before.externalId)
        throw scimFault('mutability', 'The externalId of a user does not change.');
      await this.requireFreeUserName(input.userName, id);
      const user = { ...before, ...textsOf(input), isActive: activity(input, before.isActive) };
      const email = input.email ?? null;
      const fields = [
        ...(['userName', 'displayName'] as const).filter((name) => user[name] !== before[name]),
        ...(email === emailBefore ? [] : ['email']),
      ];
      if (fields.length === 0 && user.isActive === before.isActive) return { user: before, email };
      const saved = { ...user, updatedAt: transaction.now };
      transaction.writeWithoutEntry(saveUser(saved));
      if (email !== emailBefore) this.setEmail(transaction, id, email);
      const agent = requirePresent(await transaction.find(AGENT, id), 'agent');
      withStatus(transaction, withChanges(transaction, agent, {}, fields), user);
      return { user: saved, email };
    });
  }

  /** Suspends the person, and removes all data next to the agent, except its id in the directory. @throws NOT_FOUND */
  remove(caller: Caller, id: string): Promise<void> {
    return this.ledger.write(caller, async (transaction) => {
      const before = await this.requireUser(id);
      const agent = requirePresent(await transaction.find(AGENT, id), 'agent');
      const texts = { userName: '', userNameKey: null, displayName: null };
      const user = { ...before, ...texts, isActive: 0, isDeleted: 1, updatedAt: transaction.now };
      transaction.writeWithoutEntry(saveUser(user));
      transaction.writeWithoutEntry(leaveGroups(id));
      const hasEmail = (await this.emails.emailOf({ id })) !== null;
      if (hasEmail) this.setEmail(transaction, id, null);
      const fields = [
        'userName',
        ...(before.displayName === null ? [] : ['displayName']),
        ...(hasEmail ? ['email'] : []),
      ];
      const forgotten = withChanges(transaction, withStatus(transaction, agent, user), {}, fields);
      this.roles.setRoles(transaction, forgotten, []);
    });
  }

  private async requireUser(id: string): Promise<DirectoryUser> {
    const user = await this.users.findBy('agentId', id);
    return requireFound(user?.isDeleted === 1 ? undefined : user, 'user');
  }

  private async requireFreeUserName(userName: string, ownId: string | undefined): Promise<void> {
    const other = await this.users.findBy('userNameKey', userNameKey(userName));
    if (other !== undefined && other.agentId !== ownId)
      throw scimFault('uniqueness', 'Another user has this userName already, or the same in another case.');
  }

  private async agentFor(
    transaction: ServiceTransaction,
    { externalId, userName }: ScimUser,
    before: DirectoryUser | undefined,
  ): Promise<Agent> {
    if (before !== undefined) {
      const agent = requirePresent(await transaction.find(AGENT, before.agentId), 'agent');
      return withoutOldRights(transaction, agent);
    }
    const [bound] = await transaction.findAll(AGENT, { directory: externalId });
    if (bound !== undefined) return bound;
    const name = await this.freeName(transaction, normaliseAgentName(userName));
    return addAgent(transaction, { name, kind: 'human' }, externalId);
  }

  /** Returns the name of a new agent. @throws CONFLICT if an agent that the directory does not manage has the name */
  private async freeName(transaction: ServiceTransaction, userName: string): Promise<string> {
    // Case distinguishes names of agents, but not user names, so the usual spelling is looked up as well.
    const namesake =
      (await transaction.findBy(AGENT, { name: userName })) ??
      (await transaction.findBy(AGENT, { name: userName.toLowerCase() }));
    if (namesake === undefined) return userName;
    const isManaged = namesake.directory !== null && (await this.users.findBy('agentId', namesake.id)) !== undefined;
    if (!isManaged)
      throw scimFault(
        'uniqueness',
        `An agent has the name "${namesake.name}" already. If it is this person, let an admin set its \`directory\` to the externalId.`,
      );
    for (let number = 2; number <= MAX_NAMESAKES; number += 1) {
      const name = `${userName}-${number}`;
      if ((await transaction.findBy(AGENT, { name })) === undefined) return name;
    }
    throw scimFault('uniqueness', `Too many agents have names that begin with "${userName}".`);
  }

  private setEmail(transaction: ServiceTransaction, agentId: string, email: string | null): void {
    transaction.writeWithoutEntry(emailChange(agentId, email, transaction.headSequence));
  }
}

function requireValid(input: ScimUser): void {
  const fault = userFault(input);
  if (fault !== undefined) throw scimFault('invalidValue', fault);
}

function textsOf({
  externalId,
  userName,
  displayName = null,
}: Omit<ScimUser, 'displayName'> & { readonly displayName?: string | null | undefined }): Pick<
  DirectoryUser,
  'externalId' | 'userName' | 'userNameKey' | 'displayName'
> {
  return { externalId, userName, userNameKey: userNameKey(userName), displayName };
}

/** Returns the value of `isActive`: 1 for an active person, 0 for another, and `fallback` if the input does not say. */
function activity({ active }: ScimUser, fallback: number): number {
  return active === undefined ? fallback : Number(active);
}

function withChanges(
  transaction: ServiceTransaction,
  agent: Agent,
  changes: Partial<Agent>,
  fields: readonly string[],
): Agent {
  if (fields.length === 0) return agent;
  const changed = { ...agent, ...changes, ...nextRevision(agent, transaction.now) };
  return transaction.update(AGENT, changed, { action: 'agent.updated', agentId: agent.id, details: { fields } });
}

/** Gives the agent the status that the directory says; a person whom somebody else has suspended stays suspended. */
function withStatus(
  transaction: ServiceTransaction,
  agent: Agent,
  { isActive, isHeld }: Pick<DirectoryUser, 'isActive' | 'isHeld'>,
): Agent {
  const status = isActive === 1 && isHeld === 0 ? 'active' : 'suspended';
  if (agent.status === status) return agent;
  const changed = { ...agent, status, ...nextRevision(agent, transaction.now) } as const;
  const action = status === 'active' ? 'agent.resumed' : 'agent.suspended';
  return transaction.update(AGENT, changed, { action, agentId: agent.id });
}

/**
 * Removes rights of a person who comes back, except those from the directory; whoever gave the others must give them
 * again.
 */
async function withoutOldRights(transaction: ServiceTransaction, agent: Agent): Promise<Agent> {
  for (const passkey of await transaction.findAll(PASSKEY, { agentId: agent.id }))
    transaction.remove(PASSKEY, passkey, { action: PASSKEY_REMOVED, agentId: agent.id });
  const fields = [...(agent.slackId === null ? [] : ['slackId']), ...(agent.roles.length === 0 ? [] : ['roles'])];
  return withChanges(transaction, agent, { slackId: null, roles: [] }, fields);
}
