import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';

/** An index, so that what one key or token has done can be found however many entries there are. */
export class LedgerActors1764200000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createIndex('ledger_entries', byActor());
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropIndex('ledger_entries', byActor());
  }
}

function byActor(): TableIndex {
  return new TableIndex({ columnNames: ['actorId', 'sequence'] });
}
