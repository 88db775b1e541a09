import { createPostgresDatabase } from '../database/database-server';
import { migrated } from './migrated';

export default async function migrateDatabase(): Promise<void> {
  const url = await createPostgresDatabase();
  const database = await migrated(() => url);
  await database.remove();
  process.env['MIGRATED_POSTGRES'] = url;
}
