import type { AnyRecordKind } from './record-kind';

/** The kinds of record a module keeps in the ledger. Provided as a value, found by the catalog at start. */
export class LedgerContribution {
  constructor(readonly kinds: readonly AnyRecordKind[]) {}
}
