import { Logger } from '@nestjs/common';
import { AsyncResource } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isFault } from '../database/database-fault';
import { type DomainError, unavailable } from '../../core/errors/domain-error';
import type { Batches, CommittedBatch } from './batches';
import { CommandQueue } from './command-queue';
import type { QueuedCommand } from './commands';
import { failStop, type WriteStops } from '../head/fail-stop';
import type { LedgerObserver } from '../commands/ledger-observer';
import type { HeadTracker } from '../head/head-tracker';
import type { Leftovers } from './leftovers';
import type { AfterCommit } from './batch';
import type { Projections } from '../head/projections';
import type { WriterConnection } from './writer-connection';

/** Most commands in the queue. */
const CAPACITY = 10_000;
/** Most milliseconds that a command waits in the queue. */
const MAX_WAIT_MS = 10_000;
/** Most commands per transaction: enough to share a sync, few enough to keep a batch short. */
const MAX_BATCH_COMMANDS = 512;
/** Milliseconds after which a batch counts as stuck. It is not interrupted: a COMMIT may be waiting for its standby. */
const MAX_BATCH_MS = 10_000;

/** Takes the commands, one batch at a time, and reports to each caller the result of its command. */
export class Writer {
  observer: LedgerObserver | null = null;
  private readonly logger = new Logger('Ledger');
  /** Runs batches outside of requests; otherwise their spans would be in the trace of the request that starts one. */
  private readonly outsideRequests = new AsyncResource('Ledger');
  private readonly queue = new CommandQueue();
  private working: Promise<void> | null = null;
  /**
   * Most commands of the next batch: halved when a batch fails because of a command, doubled when one is committed, or
   * twice as many as it has run if it left some.
   */
  private batchLimit = MAX_BATCH_COMMANDS;
  /** Monotonic milliseconds at which the batch began; null between batches. */
  private batchBegan: number | null = null;
  private isReportedStuck = false;

  constructor(
    private readonly connection: WriterConnection,
    private readonly batches: Batches,
    private readonly memory: Projections,
    private readonly leftovers: Leftovers,
    private readonly head: HeadTracker,
    private readonly stops: WriteStops,
  ) {}

  /** Number of waiting commands. */
  get waiting(): number {
    return this.queue.length;
  }

  /** True if a batch has been running for more than `MAX_BATCH_MS`. */
  get isStuck(): boolean {
    return this.batchBegan !== null && performance.now() - this.batchBegan > MAX_BATCH_MS;
  }

  push(command: Omit<QueuedCommand, 'deadline'>): void {
    if (this.queue.length >= CAPACITY) throw unavailable('Too many writes are waiting.');
    this.queue.push({ deadline: performance.now() + MAX_WAIT_MS, ...command });
    this.begin();
  }

  /** Refuses all waiting commands. */
  refuse(refusal: DomainError): void {
    for (const { reject } of this.queue.take(this.queue.length)) reject(refusal);
  }

  /** Runs once a second. */
  watch(): void {
    this.expire();
    if (this.isStuck && !this.isReportedStuck) {
      this.isReportedStuck = true;
      this.logger.error(`A batch has not ended for ${MAX_BATCH_MS / 1000} seconds: until it does, nothing is written.`);
    }
    if (this.connection.needsProbe || this.leftovers.areDue) this.begin();
  }

  /** Stops the deletion of leftovers, and resolves when no command waits or runs. */
  async finished(): Promise<void> {
    this.leftovers.stop();
    await this.working;
  }

  /** Starts the loop, unless it is running. */
  private begin(): void {
    this.working ??= this.outsideRequests.runInAsyncScope(() => this.work());
  }

  /** Refuses the commands whose deadline has passed. */
  private expire(): void {
    for (const { reject } of this.queue.takeExpired())
      reject(unavailable('The write waited too long for the database.'));
  }

  private async work(): Promise<void> {
    if (this.connection.needsProbe) await this.connection.probe();
    let isDeleting;
    do {
      // Commands that arrive in the same turn of the event loop share the batch.
      await nextTurn();
      if (this.stops.refusal !== null) this.refuse(this.stops.refusal);
      else if (this.queue.length > 0) await this.runWatched(() => this.nextBatch());
      isDeleting = this.leftovers.areDue && !this.connection.hasFailed && this.stops.refusal === null;
      if (isDeleting) await this.runWatched(() => this.deleteChunk());
    } while (isDeleting || this.queue.length > 0);
    this.working = null;
  }

  private async runWatched(batch: () => Promise<void>): Promise<void> {
    this.batchBegan = performance.now();
    await batch();
    this.batchBegan = null;
    if (this.isReportedStuck) this.logger.log('The batch that was stuck has ended.');
    this.isReportedStuck = false;
  }

  private async deleteChunk(): Promise<void> {
    try {
      await this.leftovers.deleteChunk(await this.connection.current());
    } catch (error) {
      if (isFault(error, 'unavailable', 'storage')) return this.connection.failed(error);
      if (!isFault(error, 'busy')) this.leftovers.stopAfter(error);
      await this.connection.rollBack();
    }
  }

  private async nextBatch(): Promise<void> {
    const began = performance.now();
    const commands = this.queue.take(this.batchLimit);
    let batch;
    try {
      batch = await this.batches.commit(commands, () => this.queue.take(this.batchLimit - commands.length));
    } catch (error) {
      return this.onFailedBatch(commands, error);
    }
    // Outside the `try`: a failure here must not run the committed batch again.
    await this.settle(batch);
    const { outcomes, commitDurationMs } = batch;
    this.observer?.onBatch({
      commands: outcomes.length,
      durationMs: performance.now() - began,
      commitDurationMs,
      refusals: outcomes.flatMap(({ refusal }) => refusal ?? []),
    });
  }

  private async settle({ outcomes, rest, position, hasEntries, leavesRows }: CommittedBatch): Promise<void> {
    this.queue.putBack(rest);
    // What a batch has left was read for in vain.
    this.batchLimit = Math.min(
      2 * (rest.length > 0 ? Math.max(outcomes.length, 1) : this.batchLimit),
      MAX_BATCH_COMMANDS,
    );
    this.head.advance(position);
    // Only a batch with entries proves that an entry can reach the disk.
    if (hasEntries && this.connection.hasFailed) this.connection.succeeded();
    if (leavesRows) this.leftovers.added();
    const effects = outcomes.flatMap(({ effects: own }) => own);
    for (const effect of effects) await runEffect(effect);
    if (effects.length > 0) this.memory.applied(position);
    for (const { answer } of outcomes) answer();
  }

  private async onFailedBatch(commands: readonly QueuedCommand[], error: unknown): Promise<void> {
    // Read before the rollback, during which the stop may be lifted.
    const { refusal: stopped } = this.stops;
    if (stopped !== null) {
      await this.connection.rollBack();
      for (const { reject } of commands) reject(stopped);
      return;
    }
    const refusal = unavailable('The database cannot take writes now.');
    if (isFault(error, 'unavailable', 'storage')) {
      await this.connection.failed(error);
      commands.forEach((command) => command.reject(refusal));
      this.observer?.onFailedBatch();
      return;
    }
    await this.connection.rollBack();
    const [only, ...others] = commands;
    if (isFault(error, 'busy') || others.length > 0) {
      if (!isFault(error, 'busy')) this.batchLimit = Math.ceil(commands.length / 2);
      this.queue.putBack(commands);
      this.expire();
      return;
    }
    this.logger.error(`A command failed and was not written: ${String(error)}`);
    // Either the command itself is at fault, or the tables no longer accept anything.
    await this.connection.probe();
    if (this.connection.hasFailed) only?.reject(refusal);
    else only?.reject(error instanceof Error ? error : new Error(String(error)));
  }
}

/**
 * Runs an effect, and ends the process if it fails: otherwise memory would lack a committed change, and decisions would
 * be wrong.
 */
async function runEffect(effect: AfterCommit): Promise<void> {
  try {
    await effect();
  } catch (error) {
    failStop(`A step after a committed change failed: ${String(error)}`);
  }
}
