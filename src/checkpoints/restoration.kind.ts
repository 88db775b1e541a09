import type { RecordKind } from '../ledger/record-kind';
import { Restoration } from './restoration.entity';

/** How the ledger keeps restorations. The hashed members are frozen. */
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
