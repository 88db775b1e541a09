import { Logger } from '@nestjs/common';
import { AsyncResource } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DatabaseFault, isBusy } from '../database/database-fault';
import { unavailable } from '../../core/errors/domain-error';
import type { BatchRunner, CommittedBatch } from './batch-runner';
import { failStop, type WriteStops } from '../head/fail-stop';
import type { LedgerObserver, ObservedBatch } from '../ledger-observer';
import { GatheredCommands, type LedgerQueue, type QueuedCommand } from './ledger-queue';
import type { KnownHead } from '../head/known-head';
import type { Leftovers } from './leftovers';
import type { AfterCommit } from './pending-changes';
import type { Projections } from './projections';
import type { WriterConnection } from './writer-connection';

/** Most commands per transaction: enough to share a sync, few enough to keep a batch short. */
const MAXIMUM_BATCH = 512;
/** Milliseconds after which a batch counts as stuck. It is not interrupted: a COMMIT may be waiting for its standby. */
const LONGEST_BATCH = 10_000;

/** Drains the queue, one batch at a time, and reports to each caller the result of its command. */
export class BatchLoop {
  observer: LedgerObserver | null = null;
  private readonly logger = new Logger('Ledger');
  /** Batches belong to no request: otherwise the id of the request that starts one would be on all its log lines. */
  private readonly outsideRequests = new AsyncResource('Ledger');
  private working: Promise<void> | null = null;
  /** Halved when a batch fails for a reason of its own, until the faulty command is alone in its batch. */
  private batchLimit = MAXIMUM_BATCH;
  /** Monotonic milliseconds; null between batches. */
  private batchBegan: number | null = null;
  private isReportedStuck = false;

  constructor(
    private readonly queue: LedgerQueue,
    private readonly writer: WriterConnection,
    private readonly runner: BatchRunner,
    private readonly projections: Projections,
    private readonly leftovers: Leftovers,
    private readonly known: KnownHead,
    private readonly stops: WriteStops,
  ) {}

  /** Whether a batch has been running for so long that it counts as stuck. */
  get isStuck(): boolean {
    return this.batchBegan !== null && performance.now() - this.batchBegan > LONGEST_BATCH;
  }

  /** Starts the loop, unless it is running. */
  begin(): void {
    this.working ??= this.outsideRequests.runInAsyncScope(() => this.work());
  }

  /** Reports, once, that a batch is stuck. */
  watch(): void {
    if (!this.isStuck || this.isReportedStuck) return;
    this.isReportedStuck = true;
    this.logger.error(`A batch has not ended for ${LONGEST_BATCH / 1000} seconds: until it does, nothing is written.`);
  }

  /** Resolves when the queue is empty. Leftovers wait for the next start. */
  async finished(): Promise<void> {
    this.leftovers.stop();
    await this.working;
  }

  private async work(): Promise<void> {
    if (this.writer.needsProbe) await this.writer.probe();
    let isDeleting;
    do {
      // Commands that arrive in the same turn of the event loop share the batch.
      await nextTurn();
      if (this.stops.refusal !== null) this.queue.refuse(this.stops.refusal);
      else await this.nextBatch();
      isDeleting = this.leftovers.areDue && !this.writer.hasFailed && this.stops.refusal === null;
      if (isDeleting) await this.watched(() => this.deleteChunk());
    } while (isDeleting || this.queue.length > 0);
    this.working = null;
  }

  private async deleteChunk(): Promise<void> {
    try {
      await this.leftovers.deleteChunk(await this.writer.current());
    } catch (error) {
      if (isUnavailable(error)) return this.writer.failed(error);
      if (!isBusy(error)) this.leftovers.stopAfter(error);
      await this.writer.rollBack();
    }
  }

  private async nextBatch(): Promise<void> {
    const commands = new GatheredCommands(this.queue, this.batchLimit);
    if (commands.all.length === 0) return;
    const began = performance.now();
    const batch = await this.watched(() => this.commit(commands));
    if (batch !== null) this.observer?.onBatch(observed(batch, performance.now() - began));
  }

  private async watched<Result>(batch: () => Promise<Result>): Promise<Result> {
    this.batchBegan = performance.now();
    const result = await batch();
    this.batchBegan = null;
    if (this.isReportedStuck) this.logger.log('The batch that was stuck has ended.');
    this.isReportedStuck = false;
    return result;
  }

  /** Null when the batch failed. */
  private async commit(commands: GatheredCommands): Promise<CommittedBatch | null> {
    let batch;
    try {
      batch = await this.runner.commit(commands);
    } catch (error) {
      await this.onFailedBatch(commands.all, error);
      return null;
    }
    // After the attempt: a failure here must not make a batch that is on disk run again.
    await this.settle(batch);
    return batch;
  }

  private async settle({ outcomes, rest, position, hasEntries, leavesRows }: CommittedBatch): Promise<void> {
    this.known.moved(position);
    this.batchLimit = Math.min(this.batchLimit * 2, MAXIMUM_BATCH);
    // A batch without an entry does not prove that one would reach the disk.
    if (hasEntries) this.writer.succeeded();
    if (leavesRows) this.leftovers.added();
    this.queue.putBack(rest);
    this.projections.applying(position.sequence);
    for (const { effects } of outcomes) for (const effect of effects) await applied(effect);
    this.projections.applied(position.sequence);
    for (const { answer } of outcomes) answer();
  }

  private async onFailedBatch(commands: readonly QueuedCommand[], error: unknown): Promise<void> {
    // Kept: the stop may be lifted during the rollback.
    const { refusal: stopped } = this.stops;
    if (stopped !== null) {
      await this.writer.rollBack();
      for (const { reject } of commands) reject(stopped);
      return;
    }
    if (isUnavailable(error)) {
      await this.writer.failed(error);
      const refusal = unavailable('The database cannot take writes now.');
      commands.forEach((command) => command.reject(refusal));
      this.observer?.onFailedBatch();
      return;
    }
    await this.writer.rollBack();
    if (isBusy(error)) {
      this.queue.putBack(commands);
      this.queue.expire();
      return;
    }
    const [only, ...others] = commands;
    if (others.length > 0) {
      this.batchLimit = Math.ceil(commands.length / 2);
      this.queue.putBack(commands);
      return;
    }
    this.logger.error(`A command failed and was not written: ${String(error)}`);
    // Either the command itself is at fault, or the tables no longer accept anything.
    await this.writer.probe();
    if (this.writer.hasFailed) only?.reject(unavailable('The database cannot take writes now.'));
    else only?.reject(error instanceof Error ? error : new Error(String(error)));
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof DatabaseFault && (error.kind === 'unavailable' || error.kind === 'storage');
}

function observed({ outcomes, commitDuration }: CommittedBatch, duration: number): ObservedBatch {
  const refusals = outcomes.flatMap(({ refusal }) => refusal ?? []);
  return { commands: outcomes.length, duration, commitDuration, refusals };
}

/** If memory missed a change that is on disk, every later decision would be wrong. */
async function applied(effect: AfterCommit): Promise<void> {
  try {
    await effect();
  } catch (error) {
    failStop(`A step after a committed change failed: ${String(error)}`);
  }
}
