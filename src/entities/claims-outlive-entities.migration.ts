import { TableForeignKey, type MigrationInterface, type QueryRunner } from 'typeorm';

/** An entity goes at once, and its claims, which nobody sees any more, piece by piece after it. */
export class ClaimsOutliveEntities1764000000001 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const table = await queryRunner.getTable('claims');
    for (const key of [...(table?.foreignKeys ?? [])]) await queryRunner.dropForeignKey('claims', key);
  }

  /** Fails while claims are left of a removed entity. */
  async down(queryRunner: QueryRunner): Promise<void> {
    const key = { columnNames: ['entityId'], referencedTableName: 'entities', referencedColumnNames: ['id'] };
    await queryRunner.createForeignKey('claims', new TableForeignKey(key));
  }
}
