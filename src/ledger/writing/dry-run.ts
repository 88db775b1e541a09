import type { Dialect } from '../database/dialect';
import type { SqlConnection } from '../database/sql-connection';
import { batchStatements } from './batch';
import { ledgerSql } from './ledger-sql';
import { headStatements } from './head-statements';
import { SYSTEM_CALLER } from '../caller';
import { countersOfEntry } from '../records/counter-name';
import { seal } from '../chain/hash-chain';
import { newSalt } from '../chain/salt';
import type { LedgerPosition } from '../chain/ledger-position';
import { UlidSequence } from '../chain/ulid-sequence';

/**
 * In a transaction that holds the head, writes what every batch writes (an entry with its counters, and the head) and
 * rolls it back. Throws if the ledger's tables do not accept it, for whatever reason.
 */
export async function dryRun(connection: SqlConnection, dialect: Dialect, head: LedgerPosition): Promise<void> {
  const entry = sampleEntry(head);
  const counts = new Map(countersOfEntry(entry).map((counter) => [counter, 1]));
  const sql = ledgerSql(dialect);
  await connection.run('SAVEPOINT "dry_run"');
  await connection.runAll([
    ...batchStatements(sql, { changes: [], removals: [], erased: [], entries: [entry], nodes: [] }, []),
    ...headStatements(sql, counts, { ...head, sequence: entry.sequence, hash: entry.hash }),
  ]);
  await connection.run('ROLLBACK TO "dry_run"');
}

function sampleEntry({ sequence, hash, timestamp, lastUlid }: LedgerPosition): ReturnType<typeof seal> {
  const { actor, requestId, ip } = SYSTEM_CALLER;
  const ulid = new UlidSequence(lastUlid).next(Date.parse(timestamp));
  const entry = {
    sequence: sequence + 1,
    id: `prv_${ulid}`,
    auditId: `aud_${ulid}`,
    timestamp,
    action: 'ledger.dry_run',
    actorType: actor.type,
    actorId: actor.id,
    agentId: null,
    entityId: null,
    subjectType: 'ledger',
    subjectId: 'ledger',
    outcome: 'success',
    reason: null,
    details: '{}',
    requestId,
    ip,
    state: null,
    detailsSalt: newSalt(),
    stateSalt: null,
  };
  return seal(entry, hash);
}
