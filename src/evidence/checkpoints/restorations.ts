import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { SYSTEM_CALLER } from '../../ledger/kinds/caller';
import type { LedgerWriter } from '../../ledger/ledger.service';
import type { TreeHead } from '../../ledger/merkle/proof-check';
import { checkpointLabel, type SignedCheckpoint } from './checkpoint';
import { CheckpointContradictedError, type FiledCheckpoint } from './stored-checkpoint';
import type { RecordKind } from '../../ledger/kinds/record-kind';

/** Makes the error with which the start is refused. */
export function refusedRestoration(location: string, why: string, checkpoint: FiledCheckpoint): Error {
  return new CheckpointContradictedError(
    `The database ${location} does not extend the checkpoint kept in ${checkpoint.path}: ${why}. ` +
      'It is an older backup, its history was rewritten, or it is another log with the same key. Start with the right database; or, to continue with this one, ' +
      `start once with ACCEPT_RESTORED_DATABASE=${checkpointLabel(checkpoint)}, which is recorded in the ledger.`,
  );
}

/** Records that the operator accepted a database that does not extend the checkpoint. */
export async function recordRestoration(
  ledger: LedgerWriter,
  accepted: TreeHead,
  givenUp: SignedCheckpoint,
): Promise<void> {
  const sizes = {
    acceptedSize: accepted.size,
    acceptedRootHash: accepted.rootHash,
    givenUpSize: givenUp.size,
    givenUpRootHash: givenUp.rootHash,
  };
  await ledger.write(SYSTEM_CALLER, async (transaction) => {
    const id = transaction.newId(RESTORATION);
    const record = { id, ...sizes, givenUpCheckpoint: givenUp.text, createdAt: transaction.now };
    transaction.insert(RESTORATION, record, { action: 'ledger.restored', details: sizes });
  });
}

/** Records that the operator accepted a database although it did not extend its kept checkpoint. */
@Entity('restorations')
class Restoration {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** Number of entries in the accepted database. */
  @Column('bigint')
  readonly acceptedSize!: number;

  @Column('text')
  readonly acceptedRootHash!: string;

  /** Size of the checkpoint that was given up. */
  @Column('bigint')
  readonly givenUpSize!: number;

  @Column('text')
  readonly givenUpRootHash!: string;

  /** The checkpoint itself, with its signature. */
  @Column('text')
  readonly givenUpCheckpoint!: string;

  @Column('text')
  readonly createdAt!: string;
}

/** The record kind of restorations. The hashed members are frozen. */
export const RESTORATION: RecordKind<Restoration> = {
  subjectType: 'restoration',
  idPrefix: 'rst',
  table: Restoration,
  hashedMembers: [
    'id',
    'acceptedSize',
    'acceptedRootHash',
    'givenUpSize',
    'givenUpRootHash',
    'givenUpCheckpoint',
    'createdAt',
  ],
  counter: 'restorations',
};
