import { conflict, type DomainError } from '../../core/errors/domain-error';
import type { PolicyRules } from './evaluation/compiled-policy';

const MAX_WARNINGS = 20;

type TeamPolicy = Pick<PolicyRules, 'team' | 'priority'>;

/** False for a policy of a team that could override what a policy without a team says from that priority on. */
export function isBelowTeamPriority({ team, priority }: TeamPolicy, teamPriority: number): boolean {
  return team === null || priority < teamPriority;
}

/** What the priority of a policy of a team must be. */
export function teamPriorityFault(teamPriority: number): string {
  return `must be below ${teamPriority}, as it is a policy of a team (TEAM_PRIORITY)`;
}

/** The error for names of which another team, or none, has the first version. */
export function nameTaken(names: readonly string[]): DomainError {
  return conflict(
    `Another team, or none, has policies with these names: ${names.join(', ')}. Names are common to all.`,
  );
}

/** Warns of denials and approvals of no team that a policy of a team can override. */
export function guardWarnings(
  policies: readonly Pick<PolicyRules, 'name' | 'version' | 'effect' | 'team' | 'priority'>[],
  teamPriority: number,
): string[] {
  const weak = policies.filter(
    ({ team, effect, priority }) => team === null && effect !== 'allow' && priority < teamPriority,
  );
  const more = weak.length - MAX_WARNINGS;
  const texts = weak
    .slice(0, MAX_WARNINGS)
    .map(
      ({ name, version, effect, priority }) =>
        `${name} (version ${version}, ${effect}) has the priority ${priority}: a policy of the team can override it. One of at least ${teamPriority} holds for every team.`,
    );
  return more > 0 ? [...texts, `So do ${more} more policies.`] : texts;
}

/** True if warnings for a policy of the team may name the policy or agent: it is of the team, or of none and no machine. */
export function isSeenFrom(
  team: string | null,
  { team: other, kind }: { readonly team: string | null; readonly kind?: string },
): boolean {
  return team === null || other === team || (other === null && kind !== 'machine');
}
