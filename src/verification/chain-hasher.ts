import { setImmediate as nextTurn } from 'node:timers/promises';
import { entriesFromJson } from '../ledger/chain/entry-columns';
import { ChainCheck, type ChainEnd, type ChainVerdict, type CheckOrder } from './chain-check';

/** Checks chunks of the chain, given in order. */
export interface ChainHasher {
  /** Resolves when the chunk is checked. */
  add(entries: string): Promise<void>;
  /** @param head where the chain ends according to the head record. */
  finish(head: ChainEnd): Promise<ChainVerdict>;
  close(): Promise<void>;
}

/** Checks on the calling thread. */
export class InlineHasher implements ChainHasher {
  private readonly check: ChainCheck;

  constructor(order: CheckOrder) {
    this.check = new ChainCheck(order);
  }

  async add(entries: string): Promise<void> {
    for (const entry of entriesFromJson(entries)) this.check.add(entry);
    await nextTurn();
  }

  async finish(head: ChainEnd): Promise<ChainVerdict> {
    return this.check.finish(head);
  }

  async close(): Promise<void> {
    // There is nothing to end.
  }
}
