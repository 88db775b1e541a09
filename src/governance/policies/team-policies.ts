import { conflict, type DomainError } from '../../core/errors/domain-error';
import type { PolicyRules } from './evaluation/compiled-policy';

const MAX_WARNINGS = 20;

type TeamPolicy = Pick<PolicyRules, 'team' | 'priority'>;

/** False for a team's policy with that priority or a higher one, which could override policies without a team. */
export function isBelowTeamPriority({ team, priority }: TeamPolicy, teamPriority: number): boolean {
  return team === null || priority < teamPriority;
}

/** Returns the fault of the priority of a team's policy. */
export function teamPriorityFault(teamPriority: number): string {
  return `must be below ${teamPriority}, as it is a policy of a team (TEAM_PRIORITY)`;
}

/** Makes the error for names whose first version belongs to another team, or to none. */
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
  return more > 0 ? [...texts, `${more} more policies can be overridden, too.`] : texts;
}

/**
 * True if warnings for a policy of the team may name the policy or agent: it is of the team; or it is of no team, and
 * is no machine.
 */
export function isSeenFrom(
  team: string | null,
  { team: other, kind }: { readonly team: string | null; readonly kind?: string },
): boolean {
  return team === null || other === team || (other === null && kind !== 'machine');
}
