import { managedByDirectory } from '../../core/errors/domain-error';
import type { Agent } from './agent.entity';

/** Maps the groups of a directory to the roles of their members. */
export type RolesByGroup = Readonly<Record<string, readonly string[]>>;

/** Returns the roles that follow membership. */
export function managedRoles(directoryRoles: RolesByGroup): ReadonlySet<string> {
  return new Set(Object.values(directoryRoles).flat());
}

/**
 * Returns the roles of a person from the directory: those that others gave, in their order, and those of the person's
 * groups.
 */
export function followingRoles(
  roles: readonly string[],
  ofGroups: ReadonlySet<string>,
  managed: ReadonlySet<string>,
): readonly string[] {
  const others = roles.filter((role) => !managed.has(role));
  const following = [...others, ...[...ofGroups].sort()];
  const isSame = following.length === roles.length && following.every((role) => roles.includes(role));
  return isSame ? roles : following;
}

/** @throws CONFLICT if a person from the directory would gain or lose a role that follows membership. */
export function requireManagedRolesStay(
  { directory, roles }: Pick<Agent, 'directory' | 'roles'>,
  newRoles: readonly string[],
  directoryRoles: RolesByGroup,
): void {
  if (directory === null) return;
  const changed = [...managedRoles(directoryRoles)].find((role) => roles.includes(role) !== newRoles.includes(role));
  if (changed !== undefined) throw managedByDirectory(`The role "${changed}"`);
}
