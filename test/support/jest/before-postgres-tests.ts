import { createPostgresDatabase } from '../database/database-server';
import { POSTGRES_SERVER } from '../processes/where-reachable';
import { migrated } from './migrated';

export default async function migrateDatabase(): Promise<void> {
  const { host, port } = POSTGRES_SERVER;
  const url = await createPostgresDatabase().catch((cause: unknown) => {
    throw new Error(`These tests need PostgreSQL at ${host}:${port}, with a user "postgres" and a database "test".`, {
      cause,
    });
  });
  const database = await migrated(() => url);
  await database.remove();
  process.env['MIGRATED_POSTGRES'] = url;
}
