import { Global, Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Configuration } from '../config/configuration';
import { OpenedParts } from '../shared/opened-parts';
import { Database } from './database';
import { PostgresDatabase } from './postgres/postgres-database';
import { ProcessLease } from './process-lease.entity';
import { ProcessLeases1763900000050 } from './process-leases.migration';
import { refuseReplacedTables } from './found-tables';
import { SchemaContribution, type Opening, StartCondition } from './start-condition';
import { loadBetterSqlite3 } from './sqlite/better-sqlite3-file-driver';
import type { FileDriver } from './sqlite/file-driver';
import { SqliteDatabase } from './sqlite/sqlite-database';
import { SQLITE3 } from './sqlite/sqlite3-file-driver';

/** One schema for both databases: on SQLite, where only one process writes, this table stays empty. */
const LEASES = new SchemaContribution([ProcessLease], [ProcessLeases1763900000050]);

/** Opens the database with the tables and migrations of every module, before anything can read it. */
@Module({
  imports: [DiscoveryModule],
  providers: [
    { provide: SchemaContribution, useValue: LEASES },
    { provide: Database, inject: [Configuration, DiscoveryService, OpenedParts], useFactory: openDatabase },
  ],
  exports: [Database],
})
class OpenedDatabaseModule {}

/** The ledger closes the database after writing what was accepted. */
@Global()
@Module({
  imports: [
    OpenedDatabaseModule,
    TypeOrmModule.forRootAsync({
      imports: [OpenedDatabaseModule],
      inject: [Database],
      useFactory: (database: Database) => ({ ...database.repositoryOptions(), retryAttempts: 0 }),
    }),
  ],
  exports: [OpenedDatabaseModule],
})
export class DatabaseModule {
  constructor(opened: OpenedParts, repositories: DataSource) {
    opened.add(() => repositories.isInitialized && repositories.destroy());
  }
}

function openDatabase(
  configuration: Configuration,
  discovery: DiscoveryService,
  opened: OpenedParts,
): Promise<Database> {
  const { database } = configuration;
  const schema = contributedSchema(discovery);
  const opening = { schema, check: contributedCheck(configuration, discovery, schema) };
  return opened.open<Database>(
    () =>
      database.kind === 'postgres'
        ? PostgresDatabase.open(database.url, opening)
        : SqliteDatabase.open(database.path, opening, fileDriver(configuration)),
    (part) => part.close(),
  );
}

function fileDriver({ databaseDriver }: Configuration): FileDriver {
  return databaseDriver === 'better-sqlite3' ? loadBetterSqlite3() : SQLITE3;
}

function contributedSchema(discovery: DiscoveryService): SchemaContribution {
  const contributions = provided(discovery).filter((instance) => instance instanceof SchemaContribution);
  return new SchemaContribution(
    [...new Set(contributions.flatMap((contribution) => contribution.tables))],
    [...new Set(contributions.flatMap((contribution) => contribution.migrations))],
  );
}

function contributedCheck(
  configuration: Configuration,
  discovery: DiscoveryService,
  schema: SchemaContribution,
): Opening['check'] {
  const conditions = provided(discovery).filter((instance) => instance instanceof StartCondition);
  return async (found) => {
    await refuseReplacedTables(found, schema);
    for (const condition of conditions) await condition.check(configuration, found);
    for (const condition of conditions) await condition.accepted(found);
  };
}

function provided(discovery: DiscoveryService): unknown[] {
  return discovery.getProviders().map((provider): unknown => provider.instance);
}
