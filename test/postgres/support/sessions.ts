import { setTimeout as sleep } from 'node:timers/promises';
import { onServer } from '../../support/database/database-server';
import type { Answer } from '../../support/application/send';
import type { PostgresCluster } from './postgres-cluster';

/** The last statement of the writer's session ends its transaction. */
const OF_READERS = `AND query NOT IN ('COMMIT', 'ROLLBACK')`;

/** Ends the service's sessions on the server: all, or all except the writer's. */
export async function endSessions({ url }: PostgresCluster, which: 'all' | 'readers'): Promise<void> {
  await onServer(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
     WHERE application_name = 'agent-governance' ${which === 'readers' ? OF_READERS : ''}`,
    url,
  );
}

/** Resolves when the standby shows everything that the primary has written so far. */
export async function replayed(primary: PostgresCluster, standby: PostgresCluster): Promise<void> {
  const [row] = await onServer('SELECT pg_current_wal_lsn()::text AS "upTo"', primary.url);
  const sql = `SELECT pg_last_wal_replay_lsn() >= '${String(row?.['upTo'])}' AS "is"`;
  while ((await onServer(sql, standby.url))[0]?.['is'] !== true) await sleep(20);
}

/** Repeats the request until it has the expected answer. */
export async function untilStatus(request: () => Promise<Answer>, status: number): Promise<void> {
  const deadline = Date.now() + 60_000;
  let answer = await request();
  while (answer.status !== status && Date.now() < deadline) {
    await sleep(100);
    answer = await request();
  }
  expect(answer.status).toBe(status);
}
