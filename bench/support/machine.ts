import { cpus, loadavg, release } from 'node:os';
import { Database } from 'sqlite3';
import { postgresVersion } from './postgres-server';

/** Describes the machine and the programs of the figures. The load shows whether anything else was running. */
export async function machine(postgres: string): Promise<string[]> {
  const [processor] = cpus();
  const load = loadavg().map((value) => value.toFixed(2));
  return [
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${processor?.model ?? 'unknown processor'}, ${process.platform} ${release()}`,
    `Node ${process.versions.node}, SQLite ${await sqliteVersion()}, PostgreSQL ${await postgresVersion(postgres)}`,
    `Load average before the start: ${load.join(' ')}`,
  ];
}

function sqliteVersion(): Promise<string> {
  return new Promise((resolve, reject) => {
    const database = new Database(':memory:');
    database.get<{ version: string }>('SELECT sqlite_version() AS version', (error, row) => {
      database.close();
      if (error === null) resolve(row.version);
      else reject(error);
    });
  });
}
