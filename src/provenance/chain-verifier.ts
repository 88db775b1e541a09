import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { unavailable } from '../errors/domain-error';
import { EntryReader } from '../ledger/entry-reader';
import { GENESIS_HASH } from '../ledger/hash-chain';
import { ChainCheck, type ChainVerdict } from './chain-check';

/** Entries read and hashed at a time: a few milliseconds, so that other requests do not wait. */
const PIECE = 250;

/**
 * Verifies the whole chain in pieces. Calls that arrive while a run is under way share the next one: a run that began
 * before the call might miss what the caller has just written.
 */
@Injectable()
export class ChainVerifier implements OnModuleDestroy {
  private running: Promise<ChainVerdict> | null = null;
  private next: Promise<ChainVerdict> | null = null;
  private isStopping = false;

  constructor(private readonly entries: EntryReader) {}

  verify(): Promise<ChainVerdict> {
    if (this.next !== null) return this.next;
    if (this.running === null) return this.start();
    this.next = this.running.then(
      () => this.startNext(),
      () => this.startNext(),
    );
    return this.next;
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  private startNext(): Promise<ChainVerdict> {
    this.next = null;
    return this.start();
  }

  private start(): Promise<ChainVerdict> {
    const run = this.run().finally(() => {
      if (this.running === run) this.running = null;
    });
    this.running = run;
    return run;
  }

  private async run(): Promise<ChainVerdict> {
    const { sequence, hash, lastSequence } = await this.entries.extent();
    const check = new ChainCheck();
    let position = Number.MIN_SAFE_INTEGER;
    let piece = await this.entries.piece(position, lastSequence ?? 0, PIECE);
    while (piece.length > 0) {
      if (this.isStopping) throw unavailable('The service is stopping.');
      for (const entry of piece) {
        check.add(entry);
        position = entry.sequence;
      }
      await nextTurn();
      piece = await this.entries.piece(position, lastSequence ?? 0, PIECE);
    }
    return check.finish({ sequence: sequence ?? 0, hash: hash ?? GENESIS_HASH });
  }
}
