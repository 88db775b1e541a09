import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Configuration } from '../core/config/configuration';
import { Database } from './database/database';
import { unavailable, type DomainError } from '../core/errors/domain-error';
import { Batches } from './writing/batches';
import type { Caller, CommandGate } from './kinds/caller';
import { ensuredHead, HeadTracker, readHead } from './head/head-tracker';
import { LedgerClock } from './head/ledger-clock';
import type { LedgerObserver } from './commands/ledger-observer';
import type { LedgerPosition } from './schema/ledger-tables';
import { treeOf } from './merkle/tree';
import { type FollowingRows, Projections, RowProjection, type LiveRowsOptions } from './head/projections';
import type {
  Command,
  ServiceCommand,
  ServiceTransaction,
  ServiceWriteOptions,
  WriteOptions,
} from './commands/ledger-transaction';
import { Leftovers } from './writing/leftovers';
import type { Lookup } from './kinds/lookup';
import type { TreeHead } from './merkle/proof-check';
import type { GovernedRow } from './kinds/record-kind';
import { RecordCatalog } from './records/record-catalog';
import { RecordReader } from './reading/record-reader';
import { SingleFlight } from '../core/concurrency/single-flight';
import { WriteStops } from './head/fail-stop';
import { Writer } from './writing/writer';
import { WriterConnection } from './writing/writer-connection';

/** Milliseconds between heartbeats. */
const HEARTBEAT = 1_000;
/** Milliseconds between checks of this process's known head while somebody waits for entries. */
const CHECK_INTERVAL_MS = 50;

/** Runs commands whose lookups, if any, are already known. */
export interface LedgerWriter {
  /** @internal */
  write<Result>(
    caller: Caller,
    command: ServiceCommand<Result>,
    terms?: Omit<ServiceWriteOptions<Result>, 'lookups'>,
  ): Promise<Result>;
  write<Result>(
    caller: Caller,
    command: Command<Result>,
    terms?: Omit<WriteOptions<Result>, 'lookups'>,
  ): Promise<Result>;
}

/** The only way to change anything. A write resolves once the change, its entry and its seal are on disk together. */
@Injectable()
export class LedgerService implements OnModuleInit, OnApplicationShutdown {
  private readonly headTracker = new HeadTracker();
  /** @internal Reasons to refuse every write with 503. */
  readonly stops = new WriteStops();
  /** Concurrent calls share a probe. */
  private readonly probes = new SingleFlight<never, unknown>(() => this.probe());
  private readonly clock: LedgerClock;
  private readonly connection: WriterConnection;
  private readonly memory: Projections;
  private readonly writer: Writer;
  private readonly leftovers: Leftovers;
  private heartbeat: NodeJS.Timeout | null = null;
  private isClosing = false;
  /** Next check of the head, shared by all who wait for entries. */
  private nextLook: Promise<void> | null = null;

  /** @internal */
  constructor(
    private readonly database: Database,
    catalog: RecordCatalog,
    private readonly records: RecordReader,
    private readonly configuration: Configuration,
  ) {
    this.clock = new LedgerClock(database.dialect.clock, configuration.maxClockStep, this.stops);
    this.memory = new Projections(catalog, database.points, this.headTracker);
    this.connection = new WriterConnection(database, this.headTracker, this.memory, catalog, this.clock);
    const { connection, memory, headTracker, stops } = this;
    const batches = new Batches(catalog, connection, memory, this.clock);
    const leftovers = new Leftovers(catalog, connection, database);
    this.leftovers = leftovers;
    this.writer = new Writer(connection, batches, memory, leftovers, headTracker, stops);
  }

  async onModuleInit(): Promise<void> {
    const connection = await this.connection.current();
    this.headTracker.initialise(await ensuredHead(connection));
    await this.clock.check(connection);
    this.clock.requireReached(this.head.timestamp, this.configuration.acceptedHeadTime, this.database.location);
    // Waiting commands may be queued behind a batch whose outcome is unknown until the database is back.
    this.database.whenCutOff = () => this.writer.refuse(outOfReach());
    this.heartbeat = setInterval(() => {
      this.clock.watch();
      this.writer.watch();
    }, HEARTBEAT).unref();
    if (this.hasOthers) this.memory.beginPolling();
  }

  /** @internal Works like the public `write`, for the service's own rooms. */
  write<Result>(caller: Caller, command: ServiceCommand<Result>, terms?: ServiceWriteOptions<Result>): Promise<Result>;
  /**
   * Runs the command in the ledger's next batch and resolves with its result once that is committed. If the caller's
   * request has an idempotency key that was answered before, it resolves with the earlier result.
   * @throws what the command throws, with nothing written; the error of a `Refusal`, with its entry written;
   * `UNAVAILABLE` when the database cannot accept the write now.
   */
  write<Result>(caller: Caller, command: Command<Result>, terms?: WriteOptions<Result>): Promise<Result>;
  write<Result>(
    caller: Caller,
    command: ServiceCommand<Result>,
    terms: ServiceWriteOptions<Result> = {},
  ): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.isClosing) throw unavailable('The service is stopping.');
      if (this.stops.refusal !== null) throw this.stops.refusal;
      if (this.database.isCutOff) throw outOfReach();
      const keyed = caller.idempotency?.nextWrite() ?? null;
      // Rooms that make gates know all operations of transactions; callers need not.
      const gate = caller.gate as CommandGate<ServiceTransaction> | undefined;
      const gated: ServiceCommand<unknown> =
        gate === undefined ? command : (transaction) => gate.run(transaction, command);
      const answers = { resolve: resolve as (value: unknown) => void, reject };
      this.writer.push({ ...(terms as ServiceWriteOptions<unknown>), caller, command: gated, keyed, ...answers });
    });
  }

  /**
   * Announces the lookups of a command, so that the whole batch reads them at once. Without it, each command waits for
   * its own lookups, which is slow over a network.
   */
  withLookups(...lookups: readonly Lookup[]): LedgerWriter {
    return {
      write: <Result>(caller: Caller, command: ServiceCommand<Result>, terms?: ServiceWriteOptions<Result>) =>
        this.write(caller, command, { lookups, ...terms }),
    };
  }

  /**
   * Passes on the rows of a kind with `isKeptInMemory`, and then every changed row: at once after a commit of this
   * process; before each batch, and within a second otherwise, after commits of other processes.
   */
  keepInMemory<Row extends GovernedRow>(options: LiveRowsOptions<Row>): Promise<void> {
    return this.follow(new RowProjection(options));
  }

  /** @internal Fills a projection, and keeps it in step with the commits of this process and of others. */
  follow(memory: FollowingRows): Promise<void> {
    return this.memory.add(memory, this.records);
  }

  /** False if no other process can write while this one runs. */
  get hasOthers(): boolean {
    return this.database.isShared;
  }

  /**
   * @internal Resolves when these projections reflect everything that any process committed before the call. Slower
   * projections do not delay it.
   */
  async catchUp(...memories: readonly FollowingRows[]): Promise<void> {
    if (this.hasOthers) await this.memory.now(memories);
    else for (const memory of memories) await memory.ready;
  }

  /**
   * @internal Registers the only listener for the case that the database no longer holds the known chain. It gets the
   * tree of that chain before the process ends.
   */
  whenContradicted(listener: (head: TreeHead) => Promise<void>): void {
    this.connection.whenContradicted = async (head) => {
      const { size, root } = treeOf(head);
      await listener({ size, rootHash: root });
    };
  }

  /** @internal Registers the only observer of batches from now on. */
  observe(observer: LedgerObserver): void {
    this.writer.observer = observer;
  }

  /** @internal Notes that another process may have left rows to delete. */
  deleteLeftovers(): void {
    this.leftovers.added();
  }

  /** @internal Number of commands that wait for the next batch. */
  get waiting(): number {
    return this.writer.waiting;
  }

  /** Time that the next entry would have, in ISO 8601. */
  get now(): string {
    return this.clock.timeAfter(this.head.timestamp);
  }

  /** @internal The ledger's clock, which may be behind the last entry. */
  get clockTime(): Date {
    return new Date(this.clock.now());
  }

  /** @internal The end of the chain, as far as this process has written or read it. */
  get head(): LedgerPosition {
    const { position } = this.headTracker;
    if (position === null) throw new Error('The ledger has not started yet.');
    return position;
  }

  /** @internal Resolves when there are entries of any process after the sequence, or the signal is aborted. */
  async waitBeyond(sequence: number, over: AbortSignal): Promise<void> {
    while (!over.aborted && this.head.sequence <= sequence) {
      this.nextLook ??= sleep(CHECK_INTERVAL_MS, undefined, { ref: false }).finally(() => (this.nextLook = null));
      await this.nextLook;
    }
  }

  /** False while commits fail or hang, while the next start would lose them, or while writing is stopped. */
  get isHealthy(): boolean {
    return (
      !this.connection.hasFailed && !this.writer.isStuck && this.stops.refusal === null && this.database.isInPlace()
    );
  }

  /**
   * @throws when the database does not answer, the head record is damaged, or the clock is wrong: no write would
   * succeed.
   */
  async check(): Promise<void> {
    await this.probes.call();
  }

  /** Writes all accepted commands, refuses new ones, and closes the database. */
  async onApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    await this.memory.stop();
    await this.writer.finished();
    if (this.heartbeat !== null) clearInterval(this.heartbeat);
    await this.connection.finish();
    await this.database.close();
  }

  private async probe(): Promise<void> {
    const { points } = this.database;
    await Promise.all([this.headTracker.check(readHead(points)), this.clock.check(points)]);
  }
}

function outOfReach(): DomainError {
  return unavailable('The database cannot be reached now.');
}
