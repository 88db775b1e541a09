import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { RecordReader } from '../../ledger/reading/record-reader';
import { ErasedIds, lineOf } from './erased-ids';
import { ERASURE, type ErasureSubject } from './erasure.entity';
import { ErasuresService } from './erasures.service';

const MOST_SUBJECTS = 100;
const COMPACT =
  'On SQLite, stop the service then and run `npm run compact`: the restored file may still hold their texts.';
const REASON =
  'The service was started with a database restored from a backup that is older than an erasure: what that took was there again.';

/** Erases again, before anything is served, what a restored backup has brought back. */
@Injectable()
export class RestoredContents implements OnModuleInit {
  private readonly logger = new Logger('Erasures');

  constructor(
    private readonly records: RecordReader,
    private readonly ids: ErasedIds,
    private readonly erasures: ErasuresService,
  ) {}

  async onModuleInit(): Promise<void> {
    const kept = await this.ids.read();
    const named = new Set<string>();
    for await (const chunk of this.records.columns(ERASURE, ['subjects'], EVERY)) {
      const missing = chunk.filter(({ subjects }) => subjects.some((subject) => !kept.has(lineOf(subject))));
      await this.ids.add(missing);
      for (const { subjects } of chunk) for (const subject of subjects) named.add(lineOf(subject));
    }
    const back = [...kept].flatMap(([line, subject]) => (named.has(line) ? [] : subject));
    for (let start = 0; start < back.length; start += MOST_SUBJECTS) {
      await this.eraseAgain(back.slice(start, start + MOST_SUBJECTS));
    }
  }

  private async eraseAgain(subjects: readonly ErasureSubject[]): Promise<void> {
    const erasure = await this.erasures.eraseAgain(subjects, REASON);
    if (erasure === null) return;
    const { id, subjects: back } = erasure;
    this.logger.warn(
      `${back.length} records that a restored backup has brought back are erased again: ${id}. ${COMPACT}`,
    );
  }
}

const EVERY = { conditions: [], order: 'asc', position: null, atOnce: 100 } as const;
