import { callerRefused } from '../../core/errors/domain-error';
import { exactLabelFault } from '../../core/values/label-fault';
import type { Caller, Scope } from '../../ledger/kinds/caller';

/** Limits of the name of a team. */
export const TEAM = { max: 50, rule: exactLabelFault };

/** The scopes that a key of a team may have. */
export const TEAM_SCOPES: readonly Scope[] = ['read', 'agents', 'policies', 'execute'];

/** Fault of a team that is set for a person. */
export const NOT_IN_TEAM = 'must be left out: only machines are in a team';

type TeamCaller = Pick<Caller, 'team'>;

/**
 * Returns the team of a new record: the caller's, or the requested one.
 * @throws PERMISSION_DENIED if the caller has another team
 */
export function writtenTeam({ team }: TeamCaller, requestedTeam: string | null | undefined): string | null {
  if (team === undefined) return requestedTeam ?? null;
  if ((requestedTeam ?? team) !== team) throw callerRefused('not_this_team');
  return team;
}

/** Requires that a caller of a team writes only records of the team. @throws PERMISSION_DENIED */
export function requireOwnTeam({ team }: TeamCaller, record: { readonly team: string | null }): void {
  if (team !== undefined && record.team !== team) throw callerRefused('not_this_team');
}

/**
 * Refuses to tell a caller of a team what an agent could do in another team, because that would reveal the other team's
 * policies.
 * @throws PERMISSION_DENIED
 * @param agent agent as it was then
 */
export function requireSameTeamThen(caller: TeamCaller, agent: { readonly team: string | null }): void {
  if (agent.team !== null) requireOwnTeam(caller, agent);
}

/** True if the caller sees records of the team. */
export function isInReach({ team }: TeamCaller, record: { readonly team: string | null }): boolean {
  return team === undefined || record.team === team;
}

/**
 * Requires that a caller of a team gives and takes only roles that begin with the team's name and a dot.
 * @throws PERMISSION_DENIED
 */
export function requireTeamRoles(
  { team }: TeamCaller,
  before: readonly string[],
  after: readonly string[] | undefined,
): void {
  if (team === undefined || after === undefined) return;
  const changed = [
    ...before.filter((role) => !after.includes(role)),
    ...after.filter((role) => !before.includes(role)),
  ];
  if (!changed.every((role) => role.startsWith(`${team}.`))) throw callerRefused('not_this_team');
}
