import { Module } from '@nestjs/common';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Column, Entity, Index, PrimaryColumn, Table, type MigrationInterface, type QueryRunner } from 'typeorm';
import { governedColumns, textColumn } from '../../src/ledger/database/columns';
import { Database } from '../../src/ledger/database/database';
import { LedgerModule } from '../../src/ledger/ledger.module';
import type { RecordKind } from '../../src/ledger/kinds/record-kind';
import { createTestApp, type TestApp } from '../support/application/create-test-app';
import { NOTE, Notes, NotesModule, type Note } from '../support/application/notes.module';
import { describeOnSqlite } from '../support/database/database-kind';
import { foreignConnection } from '../support/database/foreign-connection';
import { runVerifierProgram, type VerifierRun } from '../support/processes/run-verifier';

/** Belongs to a note. */
@Entity('remarks')
class Remark {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly noteId!: string;
}

const REMARK: RecordKind<Remark> = {
  subjectType: 'remark',
  idPrefix: 'rmk',
  table: Remark,
  hashedMembers: ['id', 'noteId'],
  uniqueKeys: [],
  counter: 'remarks',
  owner: { kind: NOTE, column: 'noteId' },
};

class RemarksSchema1763600009001 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'remarks',
        columns: [...governedColumns(), textColumn('noteId')],
        indices: [{ columnNames: ['createdSequence'], isUnique: true }, { columnNames: ['noteId'] }],
      }),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('remarks');
  }
}

@Module({
  imports: [NotesModule, LedgerModule.forFeature({ kinds: [REMARK], migrations: [RemarksSchema1763600009001] })],
})
class RemarksModule {}

const NOTE_FORM = { members: ['id', 'slug', 'topic', 'text'], table: 'notes' };
const REMARK_FORM = { members: ['id', 'noteId'], table: 'remarks', owner: { kind: 'note', column: 'noteId' } };

describeOnSqlite('The offline verifier on the kinds of a module', () => {
  let app: TestApp;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'verifier-kinds-'));
    app = await createTestApp({ modules: [RemarksModule] });
    await remarked('kept');
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.close();
  });

  function remarked(slug: string): Promise<Note> {
    return app.application.get(Notes).write(async (transaction) => {
      const note = transaction.insert(
        NOTE,
        { id: transaction.newId(NOTE), slug, topic: 'any', text: '' },
        { action: 'note.added' },
      );
      const remark = { id: transaction.newId(REMARK), noteId: note.id };
      transaction.insert(REMARK, remark, { action: 'remark.added' });
      return note;
    });
  }

  function verifiedWith(kinds: unknown): Promise<VerifierRun> {
    const path = join(folder, 'kinds.json');
    writeFileSync(path, JSON.stringify(kinds));
    return runVerifierProgram([app.application.get(Database).location, '--kinds', path]);
  }

  it('accepts that records are removed with an owner of any kind, in whichever order the file names them', async () => {
    const { id } = await remarked('removed');
    await app.application.get(Notes).write(async (transaction) => {
      const note = await transaction.find(NOTE, id);
      if (note === undefined) throw new Error('It was added.');
      await transaction.removeWithOwner(REMARK, id);
      transaction.remove(NOTE, note, { action: 'note.removed' });
    });
    const run = await verifiedWith({ remark: REMARK_FORM, note: NOTE_FORM });
    expect(run).toMatchObject({ exitCode: 0, output: expect.not.stringMatching(/FAULT|NOTE/) });
  });

  it.each([{ changeId: 'CHG-7' }, { changeId: `dec_${'0'.repeat(26)}` }, { breakGlass: true }])(
    'takes what a module says as %j for no change of the service',
    async (details) => {
      await app.application.get(Notes).write((transaction) => {
        const note = { id: transaction.newId(NOTE), slug: JSON.stringify(details), topic: 'any', text: '' };
        return Promise.resolve(transaction.insert(NOTE, note, { action: 'note.added', details }));
      });
      await remarked(`after ${JSON.stringify(details)}`);
      const run = await verifiedWith({ remark: REMARK_FORM, note: NOTE_FORM });
      expect(run).toMatchObject({ exitCode: 0, output: expect.not.stringMatching(/FAULT/) });
    },
  );

  it('finds a record that was deleted, though a caller was refused because of its owner', async () => {
    const note = await remarked('refused');
    const kinds = { note: NOTE_FORM, remark: REMARK_FORM };
    await app.application.get(Notes).write((transaction) => {
      transaction.recordAccessDenied({ type: 'note', id: note.id }, { reason: 'test' });
      return Promise.resolve();
    });
    expect(await verifiedWith(kinds)).toMatchObject({ exitCode: 0 });
    const foreign = await foreignConnection(app);
    const remarks = await foreign.all<{ id: string; createdSequence: number }>(
      `SELECT * FROM remarks WHERE "noteId" = $1`,
      [note.id],
    );
    await foreign.run(`DELETE FROM remarks WHERE "noteId" = $1`, [note.id]);
    const { exitCode, output } = await verifiedWith(kinds);
    for (const { id, createdSequence } of remarks) {
      expect(output).toContain(`FAULT records: remark ${id}: is missing`);
      await foreign.run(`INSERT INTO remarks ("id", "createdSequence", "noteId") VALUES ($1, $2, $3)`, [
        ...[id, createdSequence, note.id],
      ]);
    }
    await foreign.close();
    expect([exitCode, remarks.length]).toEqual([1, 1]);
  });

  it('finds records whose owner is gone', async () => {
    const foreign = await foreignConnection(app);
    await foreign.run(`ALTER TABLE notes RENAME TO hidden`);
    const { exitCode, output } = await verifiedWith({ note: NOTE_FORM, remark: REMARK_FORM });
    await foreign.run(`ALTER TABLE hidden RENAME TO notes`);
    await foreign.close();
    expect([exitCode, output]).toEqual([1, expect.stringMatching(/note \S+: is missing/)]);
    expect(output).toMatch(/remark \S+: what it belongs to is not there/);
  });

  it.each([
    ['a member that it does not know', { ...REMARK_FORM, owners: 'noteId' }, 'has an unknown member: owners'],
    [
      'an owner without its kind',
      { ...REMARK_FORM, owner: 'noteId' },
      'the owner of the kind remark must be an object with kind, column',
    ],
    [
      'a member of the owner that it does not know',
      { ...REMARK_FORM, owner: { kind: 'note', column: 'noteId', table: 'notes' } },
      'the owner of the kind remark has an unknown member: table',
    ],
    [
      'an owner of a kind that it does not know',
      { ...REMARK_FORM, owner: { kind: 'nobody', column: 'noteId' } },
      'the kind remark belongs to nobody, which is not a known kind',
    ],
    [
      'an owner by a column that is not hashed',
      { ...REMARK_FORM, owner: { kind: 'note', column: 'slug' } },
      'the kind remark has no member slug',
    ],
    ['a form that is no object', null, 'the kind remark must be an object'],
  ])('refuses a file of kinds with %s', async (_what, remark, fault) => {
    expect(await verifiedWith({ note: NOTE_FORM, remark })).toMatchObject({
      exitCode: 2,
      errors: expect.stringContaining(fault),
    });
  });
});
