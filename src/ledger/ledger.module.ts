import { type DynamicModule, Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DatabaseModule } from './database/database.module';
import { type MigrationClass, SchemaContribution, StartCondition } from './database/start-condition';
import { CounterReader } from './reading/counter-reader';
import { EntryReader } from './reading/entry-reader';
import {
  IdempotencyKey,
  LedgerCounter,
  LedgerHead,
  LedgerLeftover,
  LedgerListItem,
  LedgerSum,
  LedgerTreeNode,
} from './schema/ledger-tables';
import { StoredEntry } from './chain/stored-entry';
import { LedgerContribution, RecordCatalog } from './records/record-catalog';
import { FirstRelease1763600000000 } from './schema/first-release.migration';
import { SinceFirstRelease1765700000000 } from './schema/since-first-release.migration';
import { LedgerService } from './ledger.service';
import type { AnyRecordKind } from './record-kind';
import { RecordHistory } from './record-history';
import { RecordReader } from './reading/record-reader';
import { announceVersion, refuseUnknownSchema } from './schema/schema-version';
import { TreeReader } from './reading/tree-reader';

const LEDGER_SCHEMA = new SchemaContribution(
  [StoredEntry, LedgerHead, LedgerCounter, LedgerListItem, LedgerTreeNode, LedgerLeftover, LedgerSum, IdempotencyKey],
  [FirstRelease1763600000000, SinceFirstRelease1765700000000],
);

const START_CONDITION = new StartCondition(
  (_configuration, database) => refuseUnknownSchema(database),
  announceVersion,
);

export interface LedgerFeature {
  /** Owners before the kinds that belong to them. */
  readonly kinds: readonly AnyRecordKind[];
  /** The migrations that create and change the tables of these kinds; none where those of the ledger do. */
  readonly migrations?: readonly MigrationClass[];
}

const SERVICES = [RecordCatalog, LedgerService, RecordReader, RecordHistory, EntryReader, CounterReader, TreeReader];

/** The only way to write, and the readers. Global, as nothing works without it. */
@Global()
@Module({
  imports: [DatabaseModule, DiscoveryModule],
  providers: [
    ...SERVICES,
    { provide: SchemaContribution, useValue: LEDGER_SCHEMA },
    { provide: StartCondition, useValue: START_CONDITION },
  ],
  exports: SERVICES,
})
export class LedgerModule {
  /** Registers kinds of record: their tables, their migrations, and read-only repositories of them. */
  static forFeature({ kinds, migrations = [] }: LedgerFeature): DynamicModule {
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
