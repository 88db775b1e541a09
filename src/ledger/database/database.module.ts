import { createRequire } from 'node:module';
import { Global, Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Configuration } from '../../core/config/configuration';
import { OpenedParts } from '../../core/lifecycle/opened-parts';
import { Database } from './database';
import type * as postgres from './postgres/postgres-database';
import { ProcessLease } from './postgres/postgres-lease';
import { refuseReplacedTables } from './found-tables';
import { SchemaContribution, type OpeningOptions, StartCondition } from './start-condition';
import { SqliteDatabase } from './sqlite/sqlite-database';

const load = createRequire(__filename);

/**
 * The table of leases. Both databases have the same schema; on SQLite, where only one process writes, this table stays
 * empty.
 */
const LEASES = new SchemaContribution([ProcessLease], []);

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

/** Provides the opened database; the ledger closes it after writing what was accepted. */
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
    async () => {
      if (database.kind === 'sqlite') return SqliteDatabase.open(database.path, opening);
      // Loads PostgreSQL's driver, which an SQLite database does not need.
      const { PostgresDatabase } = load('./postgres/postgres-database') as typeof postgres;
      return PostgresDatabase.open(database.url, opening);
    },
    (part) => part.close(),
  );
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
): OpeningOptions['check'] {
  const conditions = provided(discovery).filter((instance) => instance instanceof StartCondition);
  return async (database) => {
    await refuseReplacedTables(database, schema);
    for (const condition of conditions) await condition.check(configuration, database);
    for (const condition of conditions) await condition.accepted(database);
  };
}

function provided(discovery: DiscoveryService): unknown[] {
  return discovery.getProviders().map((provider): unknown => provider.instance);
}
