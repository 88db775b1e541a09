import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { unavailable } from '../errors/domain-error';
import { EntryReader } from '../ledger/entry-reader';
import { CHAIN_START, type ChainEnd, type ChainVerdict } from './chain-check';
import type { ChainHasher } from './chain-hasher';
import { openHasher } from './worker-hasher';

/** Milliseconds between lines of progress. */
const PROGRESS_INTERVAL = 10_000;

export interface TimedVerdict extends ChainVerdict {
  /** Milliseconds from the first look at the chain to the verdict. */
  readonly duration: number;
}

/**
 * Verifies the chain in pieces, one run at a time. Calls that arrive while a run is under way share the next one: a run
 * that began before the call might miss what the caller has just written.
 */
@Injectable()
export class ChainVerifier implements OnModuleDestroy {
  private readonly logger = new Logger('Provenance');
  /** The runs that have not begun, by the sequence they begin at. */
  private readonly waiting = new Map<number, Promise<TimedVerdict>>();
  /** The last of the runs that have not ended. */
  private last: Promise<TimedVerdict> | null = null;
  private isStopping = false;

  constructor(private readonly entries: EntryReader) {}

  /** @param from the first sequence to check; its link to the entry before is checked, too. Absent: the whole chain. */
  verify(from = Number.MIN_SAFE_INTEGER): Promise<TimedVerdict> {
    const known = this.waiting.get(from);
    if (known !== undefined) return known;
    if (this.last === null) return this.followed(this.run(from));
    const begin = (): Promise<TimedVerdict> => {
      this.waiting.delete(from);
      return this.run(from);
    };
    const run = this.followed(this.last.then(begin, begin));
    this.waiting.set(from, run);
    return run;
  }

  /** Runs end at their next piece, before the database is closed. */
  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await this.last?.catch(() => undefined);
  }

  private followed(run: Promise<TimedVerdict>): Promise<TimedVerdict> {
    const ended = run.finally(() => {
      if (this.last === ended) this.last = null;
    });
    this.last = ended;
    return ended;
  }

  private async run(from: number): Promise<TimedVerdict> {
    this.refuseWhenStopping();
    const begin = performance.now();
    const { sequence, hash, lastSequence } = await this.entries.extent();
    const hasher = openHasher((await this.entries.before(from)) ?? CHAIN_START);
    try {
      if (lastSequence !== null) await this.hash(hasher, from, lastSequence);
      const head: ChainEnd = { sequence: sequence ?? CHAIN_START.sequence, hash: hash ?? CHAIN_START.hash };
      return { ...(await hasher.finish(head)), duration: Math.round(performance.now() - begin) };
    } finally {
      await hasher.close();
    }
  }

  /** While one piece is hashed, the next is read. */
  private async hash(hasher: ChainHasher, from: number, upTo: number): Promise<void> {
    let told = performance.now();
    let piece = await this.entries.piece(from - 1, upTo);
    while (piece !== null) {
      this.refuseWhenStopping();
      [piece] = await Promise.all([this.entries.piece(piece.last, upTo), hasher.add(piece.entries)]);
      if (piece === null || performance.now() - told < PROGRESS_INTERVAL) continue;
      told = performance.now();
      this.logger.log(`Verifying the chain: at entry ${piece.last} of ${upTo}.`);
    }
  }

  private refuseWhenStopping(): void {
    if (this.isStopping) throw unavailable('The service is stopping.');
  }
}
