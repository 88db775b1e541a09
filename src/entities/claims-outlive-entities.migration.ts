import { TableForeignKey, type MigrationInterface, type QueryRunner } from 'typeorm';

/** An entity is removed at once; its claims, which are no longer visible, are deleted later in chunks. */
export class ClaimsOutliveEntities1764000000001 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const table = await queryRunner.getTable('claims');
    for (const key of [...(table?.foreignKeys ?? [])]) await queryRunner.dropForeignKey('claims', key);
  }

  /** Fails while claims of a removed entity are left. */
  async down(queryRunner: QueryRunner): Promise<void> {
    const key = { columnNames: ['entityId'], referencedTableName: 'entities', referencedColumnNames: ['id'] };
    await queryRunner.createForeignKey('claims', new TableForeignKey(key));
  }
}
