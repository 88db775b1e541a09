import { statSync } from 'node:fs';
import { migrated } from './migrated';

/** The fault tests have it done, too. */
export default async function migrateDatabase(): Promise<void> {
  if (process.env['MIGRATED_SQLITE'] !== undefined) return;
  const { path } = await migrated((file) => `sqlite:${file}`);
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  if (log !== undefined && log.size > 0) throw new Error(`${path} is not whole without its write-ahead log.`);
  process.env['MIGRATED_SQLITE'] = path;
}
