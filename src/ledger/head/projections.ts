import { Logger } from '@nestjs/common';
import { SerialQueue } from '../../core/concurrency/serial-queue';
import { SingleFlight } from '../../core/concurrency/single-flight';
import { TimeSlice } from '../../core/concurrency/time-slice';
import { PeriodicTask } from '../../core/lifecycle/periodic-task';
import { DatabaseFault } from '../database/database-fault';
import type { SqlSessions } from '../database/sql-connection';
import type { UnsealedEntry } from '../chain/hash-chain';
import { type HeadTracker, readHead } from './head-tracker';
import type { RecordReader } from '../reading/record-reader';
import type { GovernedRow, RecordKind } from '../kinds/record-kind';
import type { RecordCatalog } from '../records/record-catalog';
import type { LedgerPosition } from '../schema/ledger-tables';

/** Most rows read at once at the start. */
const CHUNK = 1_000;

/** Selects a projection's rows and what changes them. */
export interface LiveRowsOptions<Row extends GovernedRow> {
  readonly kind: RecordKind<Row>;
  /** Status of the rows that are read at the start; absent if all rows are read. */
  readonly status?: string;
  readonly actions: readonly string[];
  /**
   * Receives all rows that belong together in one call; the next call waits for the promise. Long work may be done in
   * chunks if it takes effect at once.
   */
  readonly keep: (rows: readonly Row[]) => void | Promise<void>;
}

/** Reads the current rows about which an entry with one of the actions was written after a sequence. */
type ReadChanged = <Row extends GovernedRow>(
  kind: RecordKind<Row>,
  actions: readonly string[],
  after: number,
) => Promise<Row[]>;

/** A projection of rows of any kind that follows other processes. */
export type FollowingRows = Pick<RowProjection<GovernedRow>, keyof RowProjection<GovernedRow>>;

/** Entries and rows that a command has written. */
interface WrittenRows {
  readonly entries: readonly Pick<UnsealedEntry, 'action' | 'subjectId'>[];
  readonly rows: { get(id: string): { readonly row: GovernedRow | null } | undefined };
}

/**
 * Rows of one kind that a process keeps in memory. They change in one order: after this process's own commits, and when
 * the projection catches up with other processes, under the lock of each batch or in between.
 */
export class RowProjection<Row extends GovernedRow> {
  private readonly order = new SerialQueue();
  /** Sequence of the last applied entry. */
  private appliedSequence = 0;

  constructor(private readonly options: LiveRowsOptions<Row>) {}

  /** @param upTo sequence of the head, which was read beforehand */
  async load(records: RecordReader, upTo: number): Promise<void> {
    const { kind, status, keep } = this.options;
    const conditions = status === undefined ? [] : [{ column: 'status', comparison: 'equals' as const, value: status }];
    for await (const rows of records.chunks(kind, conditions, CHUNK)) if (rows.length > 0) await keep(rows);
    this.advanceTo(upTo);
  }

  /**
   * Returns the effect that takes over a command's rows once they are on disk; undefined if there are none. If the
   * projection has since caught up with other processes, it has already read these rows, perhaps in a later state.
   */
  effectOf({ entries, rows }: WrittenRows): (() => Promise<void>) | undefined {
    const { actions, keep } = this.options;
    const ids = new Set(entries.filter(({ action }) => actions.includes(action)).map(({ subjectId }) => subjectId));
    if (ids.size === 0) return undefined;
    const written = Array.from(ids).flatMap((id) => rows.get(id)?.row ?? []) as unknown as Row[];
    const { appliedSequence } = this;
    return () =>
      this.order.run(async () => {
        if (this.appliedSequence === appliedSequence) await keep(written);
      });
  }

  /** True if, according to the head, another process may have changed rows since. */
  isBehind({ effectSequence }: LedgerPosition): boolean {
    return effectSequence > this.appliedSequence;
  }

  /** Resolves when all rows passed in so far have been taken over. */
  get ready(): Promise<void> {
    return this.order.ended();
  }

  /** Takes over the rows that have changed up to the head, which was read beforehand. */
  async catchUp(head: LedgerPosition, read: ReadChanged): Promise<void> {
    if (!this.isBehind(head)) return this.ready;
    const { kind, actions, keep } = this.options;
    await this.order.run(async () => {
      // Other calls may have caught up meanwhile.
      if (this.isBehind(head)) await keep(await read(kind, actions, this.appliedSequence));
      this.advanceTo(head.sequence);
    });
  }

  /** Notes that everything up to the sequence has been taken over. */
  advanceTo(sequence: number): void {
    this.appliedSequence = Math.max(this.appliedSequence, sequence);
  }
}

/** Average polling interval in milliseconds: commits of other processes become visible within a second. */
const INTERVAL_MS = 300;

/**
 * Keeps the rows that a process has in memory in step with the chain. The head row names the last entry that changed
 * such rows; it is read under the batch lock, so no command decides on rows that another process has already changed.
 * In between, it is polled without the lock, since reads are served from memory.
 */
export class Projections {
  private readonly logger = new Logger('Ledger');
  private readonly all: FollowingRows[] = [];
  /** A caller that arrives while the head is read shares the next read. */
  private readonly heads = new SingleFlight<never, LedgerPosition | undefined>(async () => {
    const head = await readHead(this.connection);
    if (head !== undefined) this.head.accept(head);
    return head;
  });
  private readonly polls = new PeriodicTask(
    INTERVAL_MS,
    () => this.poll(),
    (error) => this.report(error),
  );
  private hasFailed = false;

  constructor(
    private readonly catalog: RecordCatalog,
    private readonly connection: SqlSessions,
    private readonly head: HeadTracker,
  ) {}

  /** Fills a projection, which follows every commit from then on. */
  async add(memory: FollowingRows, records: RecordReader): Promise<void> {
    await memory.load(records, (await readHead(this.connection))?.sequence ?? 0);
    this.all.push(memory);
  }

  /** Returns the effects of a command's writes on memory. */
  effectsOf(command: WrittenRows): (() => Promise<void>)[] {
    return this.all.flatMap((memory) => memory.effectOf(command) ?? []);
  }

  /** @throws DatabaseFault `unavailable` if a change cannot be read: until then, no command can decide anything */
  async catchUp(connection: SqlSessions, head: LedgerPosition): Promise<void> {
    for (const memory of this.all) {
      if (memory.isBehind(head)) await memory.catchUp(head, this.reading(connection)).catch(unreadable);
    }
  }

  /** Notes that this process has applied its own changes up to here. */
  applied({ sequence }: LedgerPosition): void {
    for (const memory of this.all) memory.advanceTo(sequence);
  }

  /** Begins to poll; only needed if other processes write. */
  beginPolling(): void {
    this.polls.begin();
  }

  /** Resolves when these projections reflect everything that was committed before the call. */
  async now(memories: readonly FollowingRows[]): Promise<void> {
    const head = await this.heads.call();
    if (head === undefined) return;
    await Promise.all(memories.map((memory) => memory.catchUp(head, this.reading(this.connection))));
  }

  async stop(): Promise<void> {
    await this.polls.stop();
    await this.heads.ended();
    await Promise.all(this.all.map(({ ready }) => ready));
  }

  /** Lets each projection catch up at its own pace: a slow one does not hold up others, such as revoked keys. */
  private async poll(): Promise<void> {
    const head = await this.heads.call();
    if (head === undefined) return;
    const behind = this.all.filter((memory) => memory.isBehind(head));
    for (const memory of behind)
      memory.catchUp(head, this.reading(this.connection)).catch((error: unknown) => this.report(error));
    if (behind.length === 0) this.hasFailed = false;
  }

  /** Reports a fault once, until all projections have caught up. */
  private report(error: unknown): void {
    if (!this.hasFailed && !this.polls.isStopping)
      this.logger.warn(`What other processes have committed cannot be read now: ${String(error)}`);
    this.hasFailed = true;
  }

  private reading(connection: SqlSessions): ReadChanged {
    return async <Row extends GovernedRow>(kind: RecordKind<Row>, actions: readonly string[], after: number) => {
      const codec = this.catalog.codec(kind);
      const turn = new TimeSlice(true);
      const rows: Row[] = [];
      for (const row of await connection.all(codec.selectTouchedAfter(actions.length), [after, ...actions])) {
        if (turn.isOver) await turn.next();
        rows.push(codec.decode(row) as Row);
      }
      return rows;
    };
  }
}

/**
 * Makes the fault for a change that cannot be read. Every later command would fail as well, so the command is not at
 * fault.
 */
function unreadable(error: unknown): never {
  if (error instanceof DatabaseFault) throw error;
  throw new DatabaseFault('unavailable', 'MEMORY', `What another process has changed is unreadable: ${String(error)}`);
}
