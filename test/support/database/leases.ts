import { onPostgres } from './database-kind';
import { onServer } from './database-server';

/** The processes with a lease in the database; none on SQLite, which has the file's lock instead. */
export async function leaseHolders(url: string): Promise<string[]> {
  if (!onPostgres) return [];
  return (await onServer('SELECT "id" FROM "process_leases"', url)).map(({ id }) => String(id));
}

/**
 * Makes it look as if these processes had not renewed their leases for two minutes, and all others had held theirs that
 * long.
 */
export async function lapse(url: string, processIds: readonly string[]): Promise<void> {
  if (!onPostgres) return;
  const condition = `"id" IN (${processIds.map((id) => `'${id}'`).join(', ') || 'NULL'})`;
  await onServer(`UPDATE "process_leases" SET "until" = "until" - 120000 WHERE ${condition}`, url);
  await onServer(`UPDATE "process_leases" SET "since" = "since" - 120000`, url);
}
