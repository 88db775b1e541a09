import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/**
 * A folder of this user: the first that is named, or else one in the home folder. What is empty or relative names none, as the XDG
 * specification says: it would be in whatever folder a command is called in, whose files may be those of others.
 */
export function userFolder(configured: readonly (string | undefined)[], ...inHome: readonly string[]): string {
  return configured.find((path) => path !== undefined && isAbsolute(path)) ?? join(homedir(), ...inHome);
}
