import { TreeReader } from '../../ledger/reading/tree-reader';
import { ErasureReader } from '../../ledger/reading/erasure-reader';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Database } from '../../ledger/database/database';
import { RecordCatalog } from '../../ledger/records/record-catalog';
import type { AnyRecordKind } from '../../ledger/kinds/record-kind';
import { ChainVerifier, type TimedVerdict } from '../../evidence/verification/chain-verifier';
import { DerivedDataReader } from '../../evidence/verification/derived-data-reader';
import { StateReader } from '../../evidence/verification/state-reader';
import { StateVerifier, type TimedStateVerdict } from '../../evidence/verification/state-verifier';

/** The checks of `POST /provenance/verify`, for a database that no service has opened. */
export class TargetVerification {
  private readonly chain: ChainVerifier;
  private readonly state: StateVerifier;

  constructor(database: Database, kinds: readonly AnyRecordKind[]) {
    const catalog = new RecordCatalog(kinds, database.dialect);
    const entries = new EntryReader(database, new RecordReader(database, catalog), catalog);
    this.chain = new ChainVerifier(entries, new TreeReader(database), new ErasureReader(database, catalog));
    this.state = new StateVerifier(
      new StateReader(database, catalog),
      new DerivedDataReader(database, catalog),
      entries,
      database,
    );
  }

  /** Sequence of the last verified entry. */
  get sequence(): number {
    return this.chain.at;
  }

  /** Returns the faults, in one line each; none if everything is as the source's service left it. */
  async chainFaults(): Promise<string[]> {
    return chainFaults(await this.chain.verify());
  }

  async recordFaults(): Promise<string[]> {
    return recordFaults(await this.state.verify(new AbortController().signal));
  }
}

function chainFaults({ valid, firstInvalid, brokenLinks, invalidHashes, tree }: TimedVerdict): string[] {
  const chain = valid
    ? []
    : [
        `The chain has ${brokenLinks} broken links and ${invalidHashes} invalid hashes, first at entry ${firstInvalid ?? 0}.`,
      ];
  return tree?.matches === false ? [...chain, 'The Merkle tree does not match the entries.'] : chain;
}

function recordFaults({ firstInvalidRecords, firstInvalidDerived, ...counts }: TimedStateVerdict): string[] {
  const more = counts.invalidRecords + counts.invalidDerived - firstInvalidRecords.length - firstInvalidDerived.length;
  return [
    ...firstInvalidRecords.map(({ subjectType, subjectId, fault }) => `The ${subjectType} ${subjectId} is ${fault}.`),
    ...firstInvalidDerived.map(({ data, name }) => `Derived data are wrong: ${data} ${name}.`),
    ...(more > 0 ? [`There are ${more} more faults of records.`] : []),
  ];
}
