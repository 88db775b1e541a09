import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Database } from '../database/database';
import { unavailable } from '../errors/domain-error';
import { BatchCommitter } from './batch-committer';
import type { Caller } from './caller';
import { ensureHead, readHead } from './ledger-head-row';
import type { LedgerObserver } from './ledger-observer';
import { ledgerTime, type LedgerPosition } from './ledger-position';
import { LedgerQueue } from './ledger-queue';
import type { Command } from './ledger-transaction';
import { LedgerWork } from './ledger-work';
import type { Lookup } from './lookup';
import { MemoryFollowers, type MemoryFollower } from './memory-followers';
import { RecordCatalog } from './record-catalog';
import { WriterConnection } from './writer-connection';

const QUEUE_CAPACITY = 10_000;
/** Milliseconds. */
const MAXIMUM_WAIT = 10_000;
const HEARTBEAT = 1_000;

export type LedgerWriter = Pick<LedgerService, 'write'>;

/** The one way to change anything. A write is answered when the change, its entry and its seal are on disk together. */
@Injectable()
export class LedgerService implements OnModuleInit, OnApplicationShutdown {
  private readonly queue = new LedgerQueue(QUEUE_CAPACITY, MAXIMUM_WAIT);
  private readonly writer: WriterConnection;
  private readonly followers: MemoryFollowers;
  private readonly work: LedgerWork;
  private heartbeat: NodeJS.Timeout | null = null;
  private isClosing = false;

  constructor(
    private readonly database: Database,
    catalog: RecordCatalog,
  ) {
    this.writer = new WriterConnection(database);
    this.followers = new MemoryFollowers(catalog);
    const committer = new BatchCommitter(database, catalog, this.writer, this.followers);
    this.work = new LedgerWork(this.queue, this.writer, committer, this.followers);
  }

  async onModuleInit(): Promise<void> {
    const connection = await this.writer.current();
    await ensureHead(connection);
    this.work.position = await readHead(connection);
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
      this.work.begin();
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
    this.work.observer = observer;
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
    const { position } = this.work;
    if (position === null) throw new Error('The ledger has not started yet.');
    return position;
  }

  /** False while commits fail, or would not be found at the next start. */
  get isHealthy(): boolean {
    return !this.writer.hasFailed && this.database.isInPlace();
  }

  /** Writes what was accepted, refuses what comes now, and closes the database. */
  async onApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    await this.work.finished();
    if (this.heartbeat !== null) clearInterval(this.heartbeat);
    await this.writer.finish();
    await this.database.close();
  }

  private onHeartbeat(): void {
    this.queue.expire();
    if (this.writer.needsProbe) this.work.begin();
  }
}
