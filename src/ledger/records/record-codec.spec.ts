import { Column, Entity, PrimaryColumn } from 'typeorm';
import { SQLITE_DIALECT } from '../database/sqlite/sqlite-database';
import { RecordCodec } from './record-codec';
import type { RecordKind } from '../kinds/record-kind';

@Entity('notes')
class Note {
  @PrimaryColumn('text')
  readonly id!: string;

  @Column('bigint')
  readonly createdSequence!: number;

  @Column('text')
  readonly text!: string;

  @Column('simple-json', { nullable: true })
  readonly labels!: readonly string[] | null;

  @Column('text')
  readonly tone!: string;

  @Column('simple-json')
  readonly places!: readonly string[];
}

const FIRST_FORM: RecordKind<Note> = {
  subjectType: 'note',
  idPrefix: 'not',
  table: Note,
  hashedMembers: ['id', 'text'],
  counter: 'notes',
};
const LATER_FORM: RecordKind<Note> = { ...FIRST_FORM, laterMembers: { labels: null, tone: 'plain', places: [] } };
const NOTE: Note = { id: 'not_1', createdSequence: 1, text: 'first', labels: null, tone: 'plain', places: [] };

describe('the hashed form of a record', () => {
  const earlier = new RecordCodec(FIRST_FORM, SQLITE_DIALECT);
  const later = new RecordCodec(LATER_FORM, SQLITE_DIALECT);

  it('does not change if a kind gains a member that is unset', () => {
    expect(later.encode(NOTE).state).toBe(earlier.encode(NOTE).state);
  });

  it('includes the later member, in its place, once it is set', () => {
    const labelled: Note = { ...NOTE, labels: ['a'] };
    expect(later.encode(labelled).state).toBe('{"id":"not_1","labels":["a"],"text":"first"}');
    const placed: Note = { ...NOTE, tone: 'loud', places: ['b'] };
    expect(later.encode(placed).state).toBe('{"id":"not_1","places":["b"],"text":"first","tone":"loud"}');
  });

  it('is not changed in a column that an update would leave as it is', () => {
    const codec = new RecordCodec({ ...FIRST_FORM, fixed: ['tone'] }, SQLITE_DIALECT);
    const update = /SET (.*) FROM/.exec(codec.updateRows)?.[1];
    expect([...(update ?? '').matchAll(/"(\w+)" =/g)].map(([, name]) => name)).toEqual(['text', 'labels', 'places']);
    const changed: Note = { ...NOTE, text: 'second' };
    expect(() => codec.requireUnchanged(NOTE, changed)).not.toThrow();
    const loud: Note = { ...NOTE, tone: 'loud' };
    expect(() => codec.requireUnchanged(NOTE, loud)).toThrow('The column tone never changes');
  });

  it('must consist of columns', () => {
    const unknown = { ...FIRST_FORM, hashedMembers: ['id', 'title'] as unknown as ['id'] };
    expect(() => new RecordCodec(unknown, SQLITE_DIALECT)).toThrow('title of note is not a column of notes');
  });
});
