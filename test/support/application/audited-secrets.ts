import { DataSource } from 'typeorm';
import type { INestApplicationContext } from '@nestjs/common';
import { StoredEntry } from '../../../src/ledger/chain/stored-entry';
import { knownSecrets } from './secret-watch';

/** The columns of an audit entry that contain text. */
const MEMBERS = ['action', 'actorId', 'agentId', 'entityId', 'subjectId', 'reason', 'details', 'requestId', 'ip'];

/** Audit entries that contain a secret, by their sequence. */
export async function entriesWithSecrets(application: INestApplicationContext): Promise<string[]> {
  const matches: string[] = [];
  for (const secret of knownSecrets()) {
    const query = application.get(DataSource).getRepository(StoredEntry).createQueryBuilder('entry');
    const matching = MEMBERS.map((member) => `entry.${member} LIKE :secret`).join(' OR ');
    const entry = await query.where(matching, { secret: `%${secret}%` }).getOne();
    if (entry !== null) matches.push(`${entry.action}, sequence ${entry.sequence}`);
  }
  return matches;
}
