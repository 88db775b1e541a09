import { TableIndex, type MigrationInterface, type QueryRunner } from 'typeorm';
import { noWayBack } from '../../ledger/schema/table-shapes';
import { HAS_SLACK_ID } from '../../governance/agents/agent.entity';

const COLUMNS = [`"format" text NOT NULL DEFAULT 'event'`, `"detail" text NOT NULL DEFAULT 'full'`, `"target" text`];

/** Webhooks that deliver messages for people. */
export class WebhookFormats1765600000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const column of COLUMNS) await queryRunner.query(`ALTER TABLE "webhooks" ADD COLUMN ${column}`);
  }

  /** A version that knows no formats would deliver entries to the origin of a chat. */
  readonly down = noWayBack('formats of webhooks');
}

/** Messages with buttons, and who people are in Slack. */
export class SlackButtons1765610000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhooks" ADD COLUMN "buttons" text NOT NULL DEFAULT 'false'`);
    await queryRunner.query('ALTER TABLE "agents" ADD COLUMN "slackId" text');
    const columnNames = ['slackId', 'createdSequence'];
    await queryRunner.createIndex('agents', new TableIndex({ columnNames, where: HAS_SLACK_ID }));
  }

  /** A version that does not know the columns could not verify the records that have them. */
  readonly down = noWayBack('buttons in Slack');
}
