import { managedByDirectory } from '../../core/errors/domain-error';
import type { Agent } from './agent.entity';

/** Maps the groups of a directory to the roles of their members. */
export type RolesByGroup = Readonly<Record<string, readonly string[]>>;

/**
 * Returns the roles that DIRECTORY_ROLES manages: nobody else may give them to, or take them from, a person of the
 * directory.
 */
export function managedRoles(directoryRoles: RolesByGroup): ReadonlySet<string> {
  return new Set(Object.values(directoryRoles).flat());
}

/**
 * Returns the roles that a person of the directory should have: their unmanaged roles, in order, and the roles of their
 * groups. Returns the list `roles` itself if nothing changes.
 * @param ofGroups roles of the person's groups
 * @param managed roles that only groups give
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

/** Requires that a person of the directory neither gains nor loses a managed role. @throws CONFLICT */
export function requireManagedRolesStay(
  { directory, roles }: Pick<Agent, 'directory' | 'roles'>,
  newRoles: readonly string[],
  directoryRoles: RolesByGroup,
): void {
  if (directory === null) return;
  const changed = [...managedRoles(directoryRoles)].find((role) => roles.includes(role) !== newRoles.includes(role));
  if (changed !== undefined) throw managedByDirectory(`The role "${changed}"`);
}
