import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { AsyncResource } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Database } from '../database/database';
import { DatabaseFault } from '../database/database-fault';
import { unavailable } from '../errors/domain-error';
import { BatchCommitter, type CommittedBatch } from './batch-committer';
import type { Caller } from './caller';
import { failStop } from './fail-stop';
import { ensureHead, readHead } from './ledger-head-row';
import type { LedgerObserver, ObservedBatch } from './ledger-observer';
import { ledgerTime, type LedgerPosition } from './ledger-position';
import { GatheredCommands, LedgerQueue, type QueuedCommand } from './ledger-queue';
import type { Command } from './ledger-transaction';
import type { Lookup } from './lookup';
import { MemoryFollowers, type MemoryFollower } from './memory-followers';
import { RecordCatalog } from './record-catalog';
import { WriterConnection } from './writer-connection';

/** Commands of one transaction at most: enough to share a sync, few enough to keep a batch short. */
const MAXIMUM_BATCH = 512;
const QUEUE_CAPACITY = 10_000;
/** Milliseconds. */
const MAXIMUM_WAIT = 10_000;
const HEARTBEAT = 1_000;

export type LedgerWriter = Pick<LedgerService, 'write'>;

/** The one way to change anything. A write is answered when the change, its entry and its seal are on disk together. */
@Injectable()
export class LedgerService implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('Ledger');
  private readonly queue = new LedgerQueue(QUEUE_CAPACITY, MAXIMUM_WAIT);
  /** Batches belong to no request: the one that begins them would have its id on the log lines of the others. */
  private readonly outsideRequests = new AsyncResource('Ledger');
  private readonly writer: WriterConnection;
  private readonly committer: BatchCommitter;
  private readonly followers: MemoryFollowers;
  private position: LedgerPosition | null = null;
  private working: Promise<void> | null = null;
  private heartbeat: NodeJS.Timeout | null = null;
  private observer: LedgerObserver | null = null;
  private isClosing = false;
  /** Halved when a batch fails by a fault of its own, until the command at fault stands alone. */
  private batchLimit = MAXIMUM_BATCH;

  constructor(
    private readonly database: Database,
    catalog: RecordCatalog,
  ) {
    this.writer = new WriterConnection(database);
    this.followers = new MemoryFollowers(catalog);
    this.committer = new BatchCommitter(database, catalog, this.writer, this.followers);
  }

  async onModuleInit(): Promise<void> {
    const connection = await this.writer.current();
    await ensureHead(connection);
    this.position = await readHead(connection);
    this.heartbeat = setInterval(() => this.onHeartbeat(), HEARTBEAT).unref();
  }

  /**
   * Runs the command in the ledger's next batch and answers what it returned once that is committed. Where the caller's
   * request has an idempotency key and was answered before, it answers what the command returned then.
   * @throws what the command throws, with nothing written; the error of a `Refusal`, with its entry written;
   * `UNAVAILABLE` when the database cannot take the write now.
   */
  write<Result>(caller: Caller, command: Command<Result>, lookups: readonly Lookup[] = []): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.isClosing) throw unavailable('The service is stopping.');
      const keyed = caller.idempotency?.nextWrite() ?? null;
      this.queue.push({ caller, command, lookups, keyed, resolve: resolve as (value: unknown) => void, reject });
      this.working ??= this.outsideRequests.runInAsyncScope(() => this.work());
    });
  }

  /**
   * For a command whose lookups are known beforehand: they are read for its whole batch at once. Otherwise each command
   * waits for its own, which takes long where the server is far. It changes nothing else.
   */
  expecting(...lookups: readonly Lookup[]): LedgerWriter {
    return { write: (caller, command) => this.write(caller, command, lookups) };
  }

  /**
   * Keeps memory that commands change by `afterCommit` in step with what other processes commit.
   * @param upTo sequence of the head before the memory was first read.
   */
  follow(memory: MemoryFollower, upTo: number): void {
    this.followers.add(memory, upTo);
  }

  /** Tells one observer what happens from now on. */
  observe(observer: LedgerObserver): void {
    this.observer = observer;
  }

  /** Commands that wait for the next batch. */
  get waiting(): number {
    return this.queue.length;
  }

  /** ISO 8601: what the next entry would carry. */
  get now(): string {
    return ledgerTime(Date.now(), this.head.timestamp);
  }

  /** Where the chain stands, as far as this process has written or read it. */
  get head(): LedgerPosition {
    if (this.position === null) throw new Error('The ledger has not started yet.');
    return this.position;
  }

  /** False while commits fail, or would not be found at the next start. */
  get isHealthy(): boolean {
    return !this.writer.hasFailed && this.database.isInPlace();
  }

  /** Writes what was accepted, refuses what comes now, and closes the database. */
  async onApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    await this.working;
    if (this.heartbeat !== null) clearInterval(this.heartbeat);
    await this.writer.finish();
    await this.database.close();
  }

  private onHeartbeat(): void {
    this.queue.expire();
    if (this.writer.hasFailed) this.working ??= this.outsideRequests.runInAsyncScope(() => this.work());
  }

  private async work(): Promise<void> {
    if (this.writer.hasFailed) await this.writer.probe();
    while (this.queue.length > 0) {
      // What arrives in the same turn of the event loop shares the batch.
      await nextTurn();
      const commands = new GatheredCommands(this.queue, this.batchLimit);
      const began = performance.now();
      const batch = await this.commit(commands);
      if (batch !== null) this.observer?.onBatch(observed(batch, performance.now() - began));
    }
    this.working = null;
  }

  /** Null when the batch failed. */
  private async commit(commands: GatheredCommands): Promise<CommittedBatch | null> {
    const batch = await this.attempt(commands);
    // Behind the attempt: what fails now must not make a batch that is on disk run again.
    if (batch !== null) this.settle(batch);
    return batch;
  }

  private async attempt(commands: GatheredCommands): Promise<CommittedBatch | null> {
    try {
      return await this.committer.commit(commands);
    } catch (error) {
      await this.onFailedBatch(commands.all, error);
      return null;
    }
  }

  private settle({ outcomes, rest, position, hasEntries }: CommittedBatch): void {
    this.position = position;
    this.batchLimit = Math.min(this.batchLimit * 2, MAXIMUM_BATCH);
    // A batch without an entry does not show that one would reach the disk.
    if (hasEntries) this.writer.succeeded();
    this.queue.putBack(rest);
    for (const { effects } of outcomes) effects.forEach(applyEffect);
    this.followers.applied(position.sequence);
    for (const { answer } of outcomes) answer();
  }

  private async onFailedBatch(commands: readonly QueuedCommand[], error: unknown): Promise<void> {
    if (error instanceof DatabaseFault && (error.kind === 'unavailable' || error.kind === 'storage')) {
      await this.writer.failed(error);
      const refusal = unavailable('The database cannot take writes now.');
      commands.forEach((command) => command.reject(refusal));
      this.observer?.onFailedBatch();
      return;
    }
    await this.rollBack();
    const [only, ...others] = commands;
    if (others.length > 0) {
      this.batchLimit = Math.ceil(commands.length / 2);
      this.queue.putBack(commands);
      return;
    }
    this.logger.error(`A command failed and was not written: ${String(error)}`);
    only?.reject(error instanceof Error ? error : new Error(String(error)));
  }

  private async rollBack(): Promise<void> {
    try {
      await (await this.writer.current()).run('ROLLBACK');
    } catch (error) {
      await this.writer.failed(error);
    }
  }
}

function observed({ outcomes, commitDuration }: CommittedBatch, duration: number): ObservedBatch {
  const refusals = outcomes.flatMap(({ refusal }) => refusal ?? []);
  return { commands: outcomes.length, duration, commitDuration, refusals };
}

/** A change that is on disk but not in memory would be decided on wrongly for ever. */
function applyEffect(effect: () => void): void {
  try {
    effect();
  } catch (error) {
    failStop(`What follows a committed change failed: ${String(error)}`);
  }
}
