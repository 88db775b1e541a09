import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A group of a directory, stored outside the ledger like its members. */
@Entity('directory_groups')
export class DirectoryGroup {
  @PrimaryColumn('text')
  readonly id!: string;

  @Index({ unique: true })
  @Column('text')
  readonly displayName!: string;

  @Index({ unique: true })
  @Column('text', { nullable: true })
  readonly externalId!: string | null;

  @Column('text')
  readonly createdAt!: string;

  @Column('text')
  readonly updatedAt!: string;
}

@Entity('directory_members')
@Index(['agentId'])
export class DirectoryMember {
  @PrimaryColumn('text')
  readonly groupId!: string;

  @PrimaryColumn('text')
  readonly agentId!: string;
}
