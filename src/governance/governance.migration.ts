import { type MigrationInterface, type QueryRunner, TableIndex, Table } from 'typeorm';
import { byCreation, governedTable, optionalTexts, texts, primary, noWayBack } from '../ledger/schema/table-shapes';
import { integerColumn, optionalTextColumn, sequenceColumn, textColumn } from '../ledger/database/columns';

// What the tables of governance have gained since the first release, in this order, besides what executions.migration.ts
// and webhooks.migration.ts add.

export class Stops1764800000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = [...optionalTexts('agentId role liftedAt'), ...texts('actions reason status createdAt createdBy')];
    await queryRunner.createTable(governedTable('stops', columns, [byCreation('status')]));
  }

  /** A version that knows no stops would authorise what they cover. */
  readonly down = noWayBack('stops');
}

export class Limits1765200000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "policies" ADD COLUMN "limits" text NOT NULL DEFAULT '[]'`);
  }

  /** A version that knows no limits would allow what they refuse. */
  readonly down = noWayBack('limits');
}

const GRANT_COLUMNS = [
  ['decisions', 'grant'],
  ['executions', 'grantId'],
  ['executions', 'instead'],
] as const;

export class Grants1765400000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = [
      ...texts('agentId decisionId action resourceType resourceId until status createdAt'),
      ...optionalTexts('resources parametersHash onBehalfOf'),
      { ...integerColumn('uses'), isNullable: true },
    ];
    const indexes = [
      byCreation('agentId'),
      byCreation('agentId', 'status'),
      byCreation('status'),
      byCreation('decisionId'),
      { columnNames: ['until', 'id'], where: `"status" = 'active'` },
    ];
    await queryRunner.createTable(governedTable('grants', columns, indexes));
    for (const [table, column] of GRANT_COLUMNS)
      await queryRunner.query(`ALTER TABLE "${table}" ADD COLUMN "${column}" text`);
    const used = new TableIndex({ ...byCreation('grantId'), where: '"grantId" IS NOT NULL' });
    await queryRunner.createIndex('executions', used);
  }

  /** A version that knows no grants could not verify what was authorised by one. */
  readonly down = noWayBack('grants');
}

export class Passkeys1765500000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = texts('agentId name credentialId publicKey rpId createdAt');
    await queryRunner.createTable(
      governedTable('passkeys', columns, [byCreation('agentId'), byCreation('credentialId')]),
    );
  }

  /** A version that knows no passkeys would take unsigned approvals where signed ones are required. */
  readonly down = noWayBack('passkeys');
}

/** Addresses of people, and up to which entry each has had mail. */
export class MailRecipients1765620000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    const columns = [
      primary(textColumn('agentId')),
      textColumn('email'),
      ...['sequence', 'epoch', 'term'].map(sequenceColumn),
      optionalTextColumn('mailedAt'),
    ];
    await queryRunner.createTable(new Table({ name: 'mail_recipients', columns }));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('mail_recipients');
  }
}

/** Claims that are read at a time. */
const CLAIMS = 5_000;

/** By what conditions find claims, in whichever Unicode form their predicates were sent. */
export class PredicateKeys1765630000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "claims" ADD COLUMN "predicateKey" text NOT NULL DEFAULT ''`);
    await queryRunner.query('UPDATE "claims" SET "predicateKey" = "predicate"');
    await normalisePredicates(queryRunner);
    await queryRunner.createIndex('claims', new TableIndex(byCreation('entityId', 'predicateKey')));
  }

  /** A version without it would add claims that conditions do not find after the next upgrade. */
  readonly down = noWayBack('predicates in normal form');
}

/** Of those in ASCII alone there is one form. */
async function normalisePredicates(queryRunner: QueryRunner): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined;) {
    const claims = (await queryRunner.query(
      `SELECT "id", "predicate" FROM "claims" WHERE "id" > $1 AND octet_length("predicate") > length("predicate") ORDER BY "id" LIMIT ${CLAIMS}`,
      [after],
    )) as { id: string; predicate: string }[];
    for (const { id, predicate } of claims) {
      const key = predicate.normalize('NFC');
      if (key !== predicate)
        await queryRunner.query('UPDATE "claims" SET "predicateKey" = $1 WHERE "id" = $2', [key, id]);
    }
    after = claims.at(-1)?.id;
  }
}
