import { Global, Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DatabaseModule } from '../database/database.module';
import { LedgerSchemaVersion1764000000002 } from './ledger-schema-version.migration';
import { LedgerSchema1763600000000 } from './ledger-schema.migration';
import { StartCondition } from '../database/start-condition';
import { SchemaContribution, type MigrationClass } from '../database/schema-contribution';
import { CounterReader } from './counter-reader';
import { DerivedDataReader } from './derived-data-reader';
import { EntryReader } from './entry-reader';
import { AnswersOnce } from './idempotency/answers-once';
import { IdempotencyKey } from './idempotency/idempotency-key.entity';
import { IdempotencyKeys1763800000001 } from './idempotency/idempotency-keys.migration';
import { refuseHeadAhead } from './found-head-check';
import { LedgerContribution } from './ledger-contribution';
import { LedgerCounter } from './ledger-counter.entity';
import { LedgerEntry } from './ledger-entry.entity';
import { LedgerHead } from './ledger-head.entity';
import { LedgerLeftover } from './ledger-leftover.entity';
import { LedgerLeftovers1764000000000 } from './ledger-leftovers.migration';
import { LedgerListItem } from './ledger-list-item.entity';
import { LedgerTreeNode } from './ledger-tree-node.entity';
import { LedgerTree1763800000000 } from './ledger-tree.migration';
import { ListFilters1763700000000 } from './list-filters.migration';
import { LedgerService } from './ledger.service';
import { RecordCatalog } from './record-catalog';
import type { AnyRecordKind } from './record-kind';
import { RecordReader } from './record-reader';
import { refuseNewerSchema, tellEarlierVersions } from './schema-version';
import { StateReader } from './state-reader';
import { TreeReader } from './tree-reader';

const LEDGER_SCHEMA = new SchemaContribution(
  [LedgerEntry, LedgerHead, LedgerCounter, LedgerListItem, LedgerTreeNode, LedgerLeftover, IdempotencyKey],
  [
    LedgerSchema1763600000000,
    ListFilters1763700000000,
    LedgerTree1763800000000,
    IdempotencyKeys1763800000001,
    LedgerLeftovers1764000000000,
    LedgerSchemaVersion1764000000002,
  ],
);

const START_CONDITION = new StartCondition(async (configuration, found) => {
  await refuseNewerSchema(found);
  await refuseHeadAhead(configuration, found);
}, tellEarlierVersions);

export interface LedgerFeature {
  /** Owners before what belongs to them. */
  readonly kinds: readonly AnyRecordKind[];
  /** The migrations that make and change the tables of these kinds. */
  readonly migrations: readonly MigrationClass[];
}

/** The one way to write, and the readers. Global, as nothing works without it. */
@Global()
@Module({
  imports: [DatabaseModule, DiscoveryModule],
  providers: [
    RecordCatalog,
    LedgerService,
    RecordReader,
    EntryReader,
    CounterReader,
    StateReader,
    TreeReader,
    DerivedDataReader,
    AnswersOnce,
    { provide: SchemaContribution, useValue: LEDGER_SCHEMA },
    { provide: StartCondition, useValue: START_CONDITION },
  ],
  exports: [
    LedgerService,
    RecordReader,
    EntryReader,
    CounterReader,
    TreeReader,
    StateReader,
    DerivedDataReader,
    AnswersOnce,
  ],
})
export class LedgerModule {
  /** Makes kinds of record known: their tables, their migrations, and read-only repositories of them. */
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
