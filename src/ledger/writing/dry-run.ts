import { SYSTEM_CALLER } from '../caller';
import type { LedgerPosition } from '../chain/ledger-position';
import { Batch, type BatchMeans } from './batch';
import { CommandDraft } from './command-draft';

const LEDGER = { type: 'ledger', id: 'ledger' };

/**
 * In a transaction that holds the head, writes what every batch writes (an entry with its counters, and the head) and
 * rolls it back. Throws if the ledger's tables do not accept it, for whatever reason.
 */
export async function dryRun(means: BatchMeans, head: LedgerPosition): Promise<void> {
  const batch = new Batch(means, head);
  const command = new CommandDraft(batch, SYSTEM_CALLER, head.timestamp);
  command.recordAccessDenied(LEDGER, {});
  await batch.join(command);
  await means.connection.run('SAVEPOINT "dry_run"');
  await batch.finish([]);
  await means.connection.run('ROLLBACK TO "dry_run"');
}
