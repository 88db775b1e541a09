import type { RawDatabase } from './raw-database';
import { RawPostgres } from './raw-postgres';
import { RawSqlite } from './raw-sqlite';

export function openRawDatabase(url: string): Promise<RawDatabase> {
  const [, path] = /^sqlite:(.*)$/.exec(url) ?? [];
  return path === undefined ? RawPostgres.open(url) : RawSqlite.open(path);
}
