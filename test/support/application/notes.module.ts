import { Injectable, Module } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import {
  Column,
  Entity,
  Index,
  PrimaryColumn,
  Repository,
  Table,
  type MigrationInterface,
  type QueryRunner,
} from 'typeorm';
import { governedColumns, textColumn } from '../../../src/ledger/database/columns';
import { SYSTEM_CALLER } from '../../../src/ledger/kinds/caller';
import { LedgerModule } from '../../../src/ledger/ledger.module';
import { LedgerService } from '../../../src/ledger/ledger.service';
import type { Command, LedgerTransaction } from '../../../src/ledger/commands/ledger-transaction';
import type { RecordKind } from '../../../src/ledger/kinds/record-kind';
import { RecordReader } from '../../../src/ledger/reading/record-reader';

/** A kind of record like that of a third-party module: it shows what the ledger does with any kind. */
@Entity('notes')
@Index(['slug'], { unique: true })
export class Note {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly slug!: string;

  @Column('text')
  readonly topic!: string;

  @Column('text')
  readonly text!: string;
}

export const NOTE: RecordKind<Note> = {
  subjectType: 'note',
  idPrefix: 'nte',
  table: Note,
  hashedMembers: ['id', 'slug', 'topic', 'text'],
  uniqueKeys: [['slug']],
  counter: 'notes',
  countedBy: ['topic'],
};

export class NotesSchema1763600009000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.createTable(
      new Table({
        name: 'notes',
        columns: [...governedColumns(), textColumn('slug'), textColumn('topic'), textColumn('text')],
        indices: [
          { columnNames: ['createdSequence'], isUnique: true },
          { columnNames: ['slug'], isUnique: true },
        ],
      }),
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.dropTable('notes');
  }
}

@Injectable()
export class Notes {
  constructor(
    readonly ledger: LedgerService,
    readonly reader: RecordReader,
    @InjectRepository(Note) readonly repository: Repository<Note>,
  ) {}

  write<Result>(command: Command<Result>): Promise<Result> {
    return this.ledger.write(SYSTEM_CALLER, command);
  }

  /** Adds a note in a separate command, without checking whether its slug is taken. */
  add(slug: string, members: Partial<Note> = {}): Promise<Note> {
    return this.write(async (transaction) => addNote(transaction, slug, members));
  }
}

export function addNote(transaction: LedgerTransaction, slug: string, members: Partial<Note> = {}): Note {
  const note = { id: transaction.newId(NOTE), slug, topic: 'any', text: '', ...members };
  return transaction.insert(NOTE, note, { action: 'note.added' });
}

@Module({
  imports: [LedgerModule.forFeature({ kinds: [NOTE], migrations: [NotesSchema1763600009000] })],
  providers: [Notes],
  exports: [Notes],
})
export class NotesModule {}
