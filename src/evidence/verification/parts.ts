import type { Database } from '../../ledger/database/database';
import type { SqlConnection } from '../../ledger/database/sql-connection';

/** Names held in memory at once; of more, each part is compared by itself. */
const MOST_AT_ONCE = 100_000;

/** Whether a name belongs to the part that is compared. */
export type IsAsked = (name: string) => boolean;

/** Compares so many names in as many parts as memory needs. */
export async function* inParts<Chunk>(
  names: number,
  compare: (isAsked: IsAsked) => AsyncGenerator<Chunk>,
): AsyncGenerator<Chunk> {
  const parts = Math.floor(names / MOST_AT_ONCE) + 1;
  for (let part = 0; part < parts; part += 1) yield* compare((name) => part === partOf(name, parts));
}

/** Spreads names evenly. */
function partOf(name: string, parts: number): number {
  let hash = 0;
  for (let index = 0; index < name.length; index += 1) hash = (hash * 31 + name.charCodeAt(index)) | 0;
  return Math.abs(hash) % parts;
}

/** Whatever the statements of the connection read, they read from one snapshot. */
export async function* fromSnapshot<Chunk>(
  database: Database,
  read: (connection: SqlConnection) => AsyncGenerator<Chunk>,
): AsyncGenerator<Chunk> {
  const connection = await database.openReader();
  try {
    await connection.run(database.dialect.beginReading);
    yield* read(connection);
    await connection.run('COMMIT');
  } finally {
    await connection.close();
  }
}
