import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

export const SEVERITIES = ['minor', 'major'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Something that went wrong, as it is stored. */
@Entity('incidents')
@Index(['severity', 'createdSequence'])
@Index(['createdAt', 'createdSequence'])
export class Incident {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('bigint')
  readonly createdSequence!: number;

  /** The number it has elsewhere, given once. */
  @Index({ unique: true })
  @Column('text')
  readonly reference!: string;

  @Column('text')
  readonly title!: string;

  @Column('text')
  readonly severity!: Severity;

  @Column('simple-json')
  readonly labels!: readonly string[];

  /** Records that it spoilt. */
  @Column('integer')
  readonly affected!: number;

  /** The entity that it happened to. */
  @Column('text', { nullable: true })
  readonly entityId!: string | null;

  @Column('text')
  readonly createdAt!: string;

  /** Null while the incident is open. */
  @Column('text', { nullable: true })
  readonly closedAt!: string | null;
}
