import { Logger } from '@nestjs/common';
import { DatabaseFault } from '../database/database-fault';
import type { SqlSessions } from '../database/sql-connection';
import { Repeated } from '../../core/lifecycle/repeated';
import { SingleFlight } from '../../core/concurrency/single-flight';
import type { LedgerPosition } from '../schema/ledger-tables';
import { type KnownHead, readHead } from '../head/known-head';
import type { FollowingRows, ReadChanged } from '../live-rows';
import type { RecordReader } from '../reading/record-reader';
import type { AfterCommit, PendingChanges } from './batch';
import type { RecordCatalog } from '../records/record-catalog';
import type { GovernedRow, RecordKind } from '../record-kind';
import { Turn } from '../../core/concurrency/turn';

/** Average polling interval in milliseconds: what another process has committed becomes visible within a second. */
const INTERVAL = 300;

/**
 * Keeps the rows that a process has in memory in step with the chain. The head row names the last entry that changed any
 * memory; it is read under the batch lock, so no command decides on memory that another process has already outdated.
 * In between, it is polled without the lock, since reads are served from memory.
 */
export class LiveMemory {
  private readonly logger = new Logger('Ledger');
  private readonly all: FollowingRows[] = [];
  /** A caller that arrives while the head is read shares the next reading. */
  private readonly heads = new SingleFlight<never, LedgerPosition | undefined>(() => this.head());
  private readonly polls = new Repeated(
    INTERVAL,
    () => this.poll(),
    (error) => this.report(error),
  );
  private hasFailed = false;

  constructor(
    private readonly catalog: RecordCatalog,
    private readonly connection: SqlSessions,
    private readonly known: KnownHead,
  ) {}

  /** Reads what it keeps, and follows every commit from then on. */
  async add(memory: FollowingRows, records: RecordReader): Promise<void> {
    await memory.load(records, (await readHead(this.connection))?.sequence ?? 0);
    this.all.push(memory);
  }

  /** What follows in memory from what a command has written. */
  effectsOf(command: PendingChanges): AfterCommit[] {
    return this.all.flatMap((memory) => memory.effectOf(command) ?? []);
  }

  /** @throws DatabaseFault `unavailable` where a change cannot be read: nothing can be decided until it can. */
  async catchUp(connection: SqlSessions, head: LedgerPosition): Promise<void> {
    for (const memory of this.all) {
      if (memory.isBehind(head)) await memory.catchUp(head, this.reading(connection)).catch(unreadable);
    }
  }

  /** This process has applied its own changes up to here. */
  applied({ sequence }: LedgerPosition): void {
    for (const memory of this.all) memory.applied(sequence);
  }

  /** Where other processes write. */
  beginPolling(): void {
    this.polls.begin();
  }

  /** Resolves when everything that was committed before the call is known to these memories. */
  async now(memories: readonly FollowingRows[]): Promise<void> {
    const head = await this.heads.call(0);
    if (head === undefined) return;
    await Promise.all(memories.map((memory) => memory.catchUp(head, this.reading(this.connection))));
  }

  async stop(): Promise<void> {
    await this.polls.stop();
    await this.heads.ended();
    await Promise.all(this.all.map(({ kept }) => kept));
  }

  private async head(): Promise<LedgerPosition | undefined> {
    const head = await readHead(this.connection);
    if (head !== undefined) this.known.seen(head);
    return head;
  }

  /** Each at its own pace: what takes one long does not hold up the others, such as revoked keys. */
  private async poll(): Promise<void> {
    const head = await this.heads.call(0);
    if (head === undefined) return;
    const behind = this.all.filter((memory) => memory.isBehind(head));
    for (const memory of behind) {
      if (memory.isBusy) continue;
      memory.catchUp(head, this.reading(this.connection)).catch((error: unknown) => this.report(error));
    }
    if (behind.length === 0) this.hasFailed = false;
  }

  /** Reports once, until there is nothing left to follow. */
  private report(error: unknown): void {
    if (!this.hasFailed && !this.polls.isStopping)
      this.logger.warn(`What other processes have committed cannot be read now: ${String(error)}`);
    this.hasFailed = true;
  }

  private reading(connection: SqlSessions): ReadChanged {
    return async <Row extends GovernedRow>(kind: RecordKind<Row>, actions: readonly string[], after: number) => {
      const codec = this.catalog.codec(kind);
      const turn = new Turn(true);
      const rows: Row[] = [];
      for (const row of await connection.all(codec.selectTouchedAfter(actions.length), [after, ...actions])) {
        if (turn.isOver) await turn.next();
        rows.push(codec.decode(row) as Row);
      }
      return rows;
    };
  }
}

/** Every later command would fail as this one did, so it is not the command that is at fault. */
function unreadable(error: unknown): never {
  if (error instanceof DatabaseFault) throw error;
  throw new DatabaseFault('unavailable', 'MEMORY', `What another process has changed is unreadable: ${String(error)}`);
}
