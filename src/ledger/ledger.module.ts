import { Global, Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DatabaseModule } from '../database/database.module';
import { LedgerActors1764200000000 } from './schema/ledger-actors.migration';
import { LedgerStates1764400000000 } from './schema/ledger-states.migration';
import { LedgerSchemaVersion1764000000002 } from './schema/ledger-schema-version.migration';
import { LedgerSchema1763600000000 } from './schema/ledger-schema.migration';
import { StartCondition, SchemaContribution, type MigrationClass } from '../database/start-condition';
import { AlikeRecords } from './reading/alike-records';
import { CounterReader } from './reading/counter-reader';
import { EntryReader } from './reading/entry-reader';
import { AnswersOnce } from './answers-once';
import { IdempotencyKey } from './idempotency/idempotency-key.entity';
import { IdempotencyKeys1763800000001 } from './idempotency/idempotency-keys.migration';
import { refuseHeadAhead } from './head/found-head-check';
import { LedgerContribution, RecordCatalog } from './records/record-catalog';
import { LedgerCounter } from './schema/ledger-counter.entity';
import { LedgerEntry } from './schema/ledger-entry.entity';
import { LedgerHead } from './schema/ledger-head.entity';
import { LedgerLeftover } from './schema/ledger-leftover.entity';
import { LedgerLeftovers1764000000000 } from './schema/ledger-leftovers.migration';
import { LedgerListItem } from './schema/ledger-list-item.entity';
import { LedgerTreeNode } from './schema/ledger-tree-node.entity';
import { LedgerTree1763800000000 } from './schema/ledger-tree.migration';
import { ListFilters1763700000000 } from './schema/list-filters.migration';
import { LedgerService } from './ledger.service';
import { LedgerTail } from './ledger-tail';
import type { AnyRecordKind } from './record-kind';
import { LargeReads } from './reading/large-reads';
import { ListedValues } from './reading/listed-values';
import { PastRecords } from './reading/past-records';
import { RecordHistory } from './record-history';
import { RecordReader } from './reading/record-reader';
import { refuseNewerSchema, announceVersion } from './schema/schema-version';
import { TreeReader } from './reading/tree-reader';

const LEDGER_SCHEMA = new SchemaContribution(
  [LedgerEntry, LedgerHead, LedgerCounter, LedgerListItem, LedgerTreeNode, LedgerLeftover, IdempotencyKey],
  [
    LedgerSchema1763600000000,
    ListFilters1763700000000,
    LedgerTree1763800000000,
    IdempotencyKeys1763800000001,
    LedgerLeftovers1764000000000,
    LedgerSchemaVersion1764000000002,
    LedgerActors1764200000000,
    LedgerStates1764400000000,
  ],
);

const START_CONDITION = new StartCondition(async (configuration, found) => {
  await refuseNewerSchema(found);
  await refuseHeadAhead(configuration, found);
}, announceVersion);

export interface LedgerFeature {
  /** Owners before the kinds that belong to them. */
  readonly kinds: readonly AnyRecordKind[];
  /** The migrations that create and change the tables of these kinds. */
  readonly migrations: readonly MigrationClass[];
}

/** The only way to write, and the readers. Global, as nothing works without it. */
@Global()
@Module({
  imports: [DatabaseModule, DiscoveryModule],
  providers: [
    RecordCatalog,
    LedgerService,
    LedgerTail,
    LargeReads,
    RecordReader,
    AlikeRecords,
    ListedValues,
    PastRecords,
    RecordHistory,
    EntryReader,
    CounterReader,
    TreeReader,
    AnswersOnce,
    { provide: SchemaContribution, useValue: LEDGER_SCHEMA },
    { provide: StartCondition, useValue: START_CONDITION },
  ],
  exports: [
    LedgerService,
    LedgerTail,
    PastRecords,
    RecordReader,
    AlikeRecords,
    ListedValues,
    RecordHistory,
    EntryReader,
    CounterReader,
    TreeReader,
    RecordCatalog,
    AnswersOnce,
  ],
})
export class LedgerModule {
  /** Registers kinds of record: their tables, their migrations, and read-only repositories of them. */
  static forFeature({ kinds, migrations }: LedgerFeature): DynamicModule {
    const tables = kinds.map((kind) => kind.table);
    return {
      module: LedgerFeatureModule,
      imports: [TypeOrmModule.forFeature(tables)],
      providers: [
        { provide: SchemaContribution, useValue: new SchemaContribution(tables, migrations) },
        { provide: LedgerContribution, useValue: new LedgerContribution(kinds) },
      ],
      exports: [TypeOrmModule],
    };
  }
}

@Module({})
class LedgerFeatureModule {}
