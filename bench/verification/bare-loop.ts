import { Database, OPEN_READONLY } from 'sqlite3';
import { GENESIS_HASH, hashesMatch } from '../../src/ledger/chain/hash-chain';
import type { StoredEntry } from '../../src/ledger/chain/stored-entry';

const CHUNK = 1_000;
const READ = 'SELECT * FROM ledger_entries WHERE sequence > ?1 ORDER BY sequence LIMIT ?2';

/**
 * The smallest verification: reads the rows with the driver, and hashes the same bytes, in one thread. Prints its
 * seconds.
 */
function main(path: string): void {
  const database = new Database(path, OPEN_READONLY);
  const statement = database.prepare(READ);
  const start = performance.now();
  let previous = { sequence: 0, hash: GENESIS_HASH };
  const next = (): void => {
    statement.all<StoredEntry>([previous.sequence, CHUNK], (error, entries) => {
      if (error !== null) throw error;
      for (const entry of entries) {
        if (entry.previousHash !== previous.hash || !hashesMatch(entry))
          throw new Error(`${entry.sequence} is broken.`);
        previous = entry;
      }
      if (entries.length > 0) {
        next();
        return;
      }
      statement.finalize();
      database.close();
      console.log((performance.now() - start) / 1000);
    });
  };
  next();
}

main(process.argv[2] ?? '');
