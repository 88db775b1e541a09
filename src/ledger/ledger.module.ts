import { type DynamicModule, Global, Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Database } from './database/database';
import { DatabaseModule } from './database/database.module';
import { type MigrationClass, SchemaContribution, StartCondition } from './database/start-condition';
import { CounterReader } from './reading/counter-reader';
import { EntryReader } from './reading/entry-reader';
import { ErasureReader } from './reading/erasure-reader';
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
import type { AnyRecordKind } from './kinds/record-kind';
import { refuseUnfinishedMove } from './schema/move-mark';
import { RecordHistory } from './record-history';
import { RecordReader } from './reading/record-reader';
import { announceVersion, refuseUnknownSchema } from './schema/schema-version';
import { TreeReader } from './reading/tree-reader';

const LEDGER_SCHEMA = new SchemaContribution(
  [StoredEntry, LedgerHead, LedgerCounter, LedgerListItem, LedgerTreeNode, LedgerLeftover, LedgerSum, IdempotencyKey],
  [FirstRelease1763600000000, SinceFirstRelease1765700000000],
);

const START_CONDITION = new StartCondition(async (_configuration, database) => {
  await refuseUnfinishedMove(database);
  await refuseUnknownSchema(database);
}, announceVersion);

export interface LedgerFeature {
  /** Kinds of record; owners precede the kinds that belong to them. */
  readonly kinds: readonly AnyRecordKind[];
  /** Migrations that create and change the tables of these kinds; absent if those of the ledger do. */
  readonly migrations?: readonly MigrationClass[];
}

const SERVICES = [LedgerService, RecordReader, RecordHistory, EntryReader, ErasureReader, CounterReader, TreeReader];

/** Provides the only way to write, and the readers. Global, because every module needs them. */
@Global()
@Module({
  imports: [DatabaseModule, DiscoveryModule],
  providers: [
    ...SERVICES,
    { provide: RecordCatalog, inject: [DiscoveryService, Database], useFactory: catalogOf },
    { provide: SchemaContribution, useValue: LEDGER_SCHEMA },
    { provide: StartCondition, useValue: START_CONDITION },
  ],
  exports: [RecordCatalog, ...SERVICES],
})
export class LedgerModule {
  /** Registers kinds of record, with their tables, migrations and read-only repositories. */
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

function catalogOf(discovery: DiscoveryService, { dialect }: Database): RecordCatalog {
  const provided = discovery.getProviders().map((provider): unknown => provider.instance);
  return new RecordCatalog(
    provided.filter((instance) => instance instanceof LedgerContribution).flatMap(({ kinds }) => kinds),
    dialect,
  );
}
