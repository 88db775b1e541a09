import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { dropPostgresDatabases } from '../database/database-server';

/** Jest calls this once, after the last test of a project. */
export default async function removeDatabases(): Promise<void> {
  const { MIGRATED_POSTGRES, MIGRATED_SQLITE } = process.env;
  if (MIGRATED_SQLITE !== undefined) rmSync(dirname(MIGRATED_SQLITE), { recursive: true, force: true });
  if (MIGRATED_POSTGRES !== undefined) await dropPostgresDatabases();
}
