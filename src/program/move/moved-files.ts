import { existsSync, readFileSync } from 'node:fs';
import { replaceFile } from '../../core/files/private-file';
import type { ConfiguredDatabase } from '../../core/config/variables/database-url';
import { CheckpointFiles, type LogSettings } from '../../evidence/checkpoints/stored-checkpoint';
import { persistentFile } from '../../ledger/database/kept-file';

/** A file next to the source, and its path next to the target. */
export interface MovedFile {
  readonly from: string;
  readonly to: string;
}

/** A database in the form of the settings, and as the service shows it. */
export interface DatabasePlace {
  readonly database: ConfiguredDatabase;
  readonly location: string;
}

/** Returns the files next to the source that the target's service needs, if they exist. */
export function planFiles(
  settings: Omit<LogSettings, 'database'>,
  source: DatabasePlace,
  target: DatabasePlace,
): MovedFile[] {
  const [from, to] = [source, target].map(({ database, location }) => {
    const own = { ...settings, database };
    const { checkpoint, erasures, signingKey } = new CheckpointFiles(own, { location });
    return [checkpoint, erasures, signingKey, persistentFile(own, location, 'permit-key')];
  });
  return (from ?? [])
    .map((path, index) => ({ from: path, to: to?.[index] ?? path }))
    .filter((file) => file.from !== file.to && existsSync(file.from));
}

/** Returns the target paths at which there is a file with other contents, which may belong to another log. */
export function takenPlaces(files: readonly MovedFile[]): string[] {
  return files
    .filter(({ from, to }) => existsSync(to) && !readFileSync(to).equals(readFileSync(from)))
    .map(({ to }) => to);
}

/** Copies the files; each is complete on the disk, or does not exist. */
export async function copyFiles(files: readonly MovedFile[]): Promise<void> {
  for (const { from, to } of files) await replaceFile(to, readFileSync(from, 'utf8'));
}
