import type { Dialect } from '../database/dialect';
import type { SqlConnection } from '../database/sql-connection';
import { inSlices, Slices } from '../../core/concurrency/slices';
import { BatchSql, ledgerSql } from './batch-sql';
import { SYSTEM_CALLER } from '../caller';
import { entryCounts } from '../records/counter-name';
import { seal } from '../chain/hash-chain';
import type { LedgerPosition } from '../chain/ledger-position';
import { UlidSequence } from '../chain/ulid-sequence';

/**
 * In a transaction that holds the head, writes what every batch writes (an entry with its counters, and the head) and
 * rolls it back. Throws if the ledger's tables do not accept it, for whatever reason.
 */
export async function dryRun(connection: SqlConnection, dialect: Dialect, head: LedgerPosition): Promise<void> {
  const entry = sampleEntry(head);
  await connection.run('SAVEPOINT "dry_run"');
  const writer = new BatchSql(connection, ledgerSql(dialect));
  await inSlices(writer.writeEntries([entry]), Slices.ofWrite());
  writer.count(entryCounts(entry));
  writer.moveHead({ ...head, sequence: entry.sequence, hash: entry.hash });
  await writer.send();
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
  };
  return seal(entry, hash);
}
