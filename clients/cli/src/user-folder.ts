import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/**
 * Returns a folder of this user: the first configured one, or else one in the home folder. An empty or relative path
 * does not count, as the XDG specification says: it would lead to the current folder, whose files may be those of
 * others.
 */
export function userFolder(configured: readonly (string | undefined)[], ...inHome: readonly string[]): string {
  return configured.find((path) => path !== undefined && isAbsolute(path)) ?? join(homedir(), ...inHome);
}
