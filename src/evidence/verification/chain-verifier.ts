import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { unavailable } from '../../core/errors/domain-error';
import { Database } from '../../ledger/database/database';
import { CHUNK_NAMES, EntryReader } from '../../ledger/reading/entry-reader';
import { Gate, ONE_AT_A_TIME } from '../../core/concurrency/gate';
import { SingleFlight } from '../../core/concurrency/single-flight';
import { TreeReader } from '../../ledger/reading/tree-reader';
import { CHAIN_START, type ChainVerdict } from './chain-check';
import { openHasher } from './chain-hasher';
import type { SqlSessions } from '../../ledger/database/sql-connection';
import { entryRanges } from '../../ledger/reading/chunks';
import { LEFTOVERS } from '../../ledger/schema/ledger-tables';
import { ERASED, holdsContentsSql, IS_ABOUT_GONE } from '../../ledger/writing/leftover-statements';
import { ERASABLE_TYPES } from '../erasures/erasure.entity';
import { GRANT } from '../../governance/decisions/grants/grant.entity';

/** The default beginning, low enough to include an entry inserted before the first one. */
const BEGINNING = Number.MIN_SAFE_INTEGER;

/** The tree computed from the entries, and whether the stored tree matches it. */
export interface TreeVerdict {
  readonly size: number;
  readonly rootHash: string;
  readonly matches: boolean;
}

export interface TimedVerdict extends Omit<ChainVerdict, 'tree'> {
  /** Null if the run did not begin at the first entry. */
  readonly tree: TreeVerdict | null;
  /** Roots of the recomputed tree at the requested sizes, if there are that many entries. */
  readonly roots: Readonly<Record<number, string>>;
  /** Milliseconds from the beginning of the run to the verdict. */
  readonly duration: number;
}

export interface VerificationOptions {
  /** The first sequence to check; its link to the previous entry is checked, too. Absent: the whole chain. */
  readonly from?: number | undefined;
  /** Sizes of the Merkle tree whose roots are wanted; only for the whole chain. */
  readonly sizes?: readonly number[];
  /** Aborted when the caller leaves; a run that nobody waits for ends. */
  readonly signal?: AbortSignal;
}

/** Verifies the chain in chunks, one run at a time. */
@Injectable()
export class ChainVerifier implements OnModuleDestroy {
  /** Between two runs that begin elsewhere, one from the beginning has its turn. */
  private readonly gate = new Gate({ ...ONE_AT_A_TIME, label: 'verifications', mostWaiting: 4 });
  /** By where they begin. */
  private readonly runs = new Map<number, SingleFlight<number, TimedVerdict>>();
  private reached = 0;

  constructor(
    private readonly entries: EntryReader,
    private readonly tree: TreeReader,
    private readonly database: Database,
  ) {}

  /** @throws UNAVAILABLE when runs from too many other sequences are waiting, or the service stops. */
  async verify({ from = BEGINNING, sizes = [], signal }: VerificationOptions = {}): Promise<TimedVerdict> {
    const runs = this.runs.get(from) ?? this.runsFrom(from);
    this.runs.set(from, runs);
    try {
      return await runs.call({ wishes: sizes, signal });
    } finally {
      void runs.ended().then(() => this.runs.get(from)?.isIdle === true && this.runs.delete(from));
    }
  }

  /** The last entry that the run under way has hashed; 0 while none runs. */
  get at(): number {
    return this.reached;
  }

  /** Runs end at their next chunk, before the database is closed. */
  async onModuleDestroy(): Promise<void> {
    const reason = unavailable('The service is stopping.');
    await Promise.all(Array.from(this.runs.values(), (runs) => runs.stop(reason)));
  }

  private runsFrom(from: number): SingleFlight<number, TimedVerdict> {
    const who = from === BEGINNING ? 'the beginning' : 'elsewhere';
    return new SingleFlight(({ wishes, abandoned }) =>
      this.gate.run(who, () => this.run(from, wishes, abandoned), { signal: abandoned }),
    );
  }

  /** While one chunk is hashed, the next is read. */
  private async run(from: number, wanted: ReadonlySet<number>, abandoned: AbortSignal): Promise<TimedVerdict> {
    const begin = performance.now();
    const { sequence, hash, frontier, lastSequence, entriesBeyond } = await this.entries.extent();
    const previous = (await this.entries.lastBefore(from)) ?? CHAIN_START;
    const head = { sequence: sequence ?? CHAIN_START.sequence, hash: hash ?? CHAIN_START.hash };
    const restored = await restoredEntries(this.database.chain);
    const sizes = from <= 1 ? wanted : null;
    const hasher = openHasher({ previous, head, entriesBeyond, sizes, columns: CHUNK_NAMES, restored });
    try {
      const upTo = lastSequence ?? 0;
      let chunk = await this.entries.chunk(from - 1, upTo);
      let found = await hasher.check('[]');
      let isKept = true;
      while (chunk !== null) {
        abandoned.throwIfAborted();
        const { last } = chunk;
        [chunk, found] = await Promise.all([this.entries.chunk(last, upTo), hasher.check(chunk.entries)]);
        isKept &&= await this.tree.keeps(found.tree?.completed ?? []);
        this.reached = last;
      }
      const { tree: recomputed, ...verdict } = found;
      const matches = isKept && frontier === recomputed?.frontier && (await this.tree.keepsNoOthers());
      const tree = recomputed && { size: recomputed.size, rootHash: recomputed.rootHash, matches };
      const duration = Math.round(performance.now() - begin);
      return { ...verdict, tree, roots: recomputed?.roots ?? {}, duration };
    } finally {
      this.reached = 0;
      await hasher.close();
    }
  }
}

/** Kinds of record whose contents are erased: grants go with their decisions. */
const ERASED_TYPES = [...ERASABLE_TYPES, GRANT.subjectType];

/**
 * The sequences of entries whose contents somebody has put back after they were erased. Where the service is still
 * emptying entries there are none.
 */
async function restoredEntries(chain: SqlSessions): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (const type of ERASED_TYPES) {
    for await (const bounds of entryRanges(chain, { action: `${type}.erased` })) {
      const rows = await chain.all<{ sequence: number }>(restoredSql(type), bounds);
      for (const { sequence } of rows) found.add(sequence);
    }
  }
  return found;
}

/** Entries about the records that were erased after `$1`, up to `$2`, and hold contents although nothing more is to be done. */
function restoredSql(type: string): string {
  return (
    `SELECT entry."sequence" FROM "ledger_entries" AS gone JOIN "ledger_entries" AS entry ON ${IS_ABOUT_GONE} ` +
    `AND entry."sequence" < gone."sequence" WHERE gone."action" = '${type}.erased' ` +
    `AND gone."sequence" > $1 AND gone."sequence" <= $2 AND ${holdsContentsSql('entry.')} ` +
    `AND NOT EXISTS (SELECT 1 FROM "${LEFTOVERS}" AS waiting ` +
    `WHERE waiting."subjectType" = '${ERASED}${type}' AND waiting."ownerId" = gone."subjectId")`
  );
}
