import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { unavailable } from '../../core/errors/domain-error';
import { CHUNK_NAMES, EntryReader } from '../../ledger/reading/entry-reader';
import { Gate, ONE_AT_A_TIME } from '../../core/concurrency/gate';
import { SingleFlight } from '../../core/concurrency/single-flight';
import { ErasureReader } from '../../ledger/reading/erasure-reader';
import { TreeReader } from '../../ledger/reading/tree-reader';
import { CHAIN_START, type ChainVerdict } from './chain-check';
import { openHasher } from './chain-hasher';
import { ERASABLE_TYPES } from '../erasures/erasure.entity';
import { GRANT } from '../../governance/decisions/grants/grant.entity';

/** Default beginning, low enough to include an entry inserted before the first one. */
const BEGINNING = Number.MIN_SAFE_INTEGER;

/** Kinds of record whose contents are erased: grants go with their decisions. */
const ERASED_TYPES = [...ERASABLE_TYPES, GRANT.subjectType];

/** The tree computed from the entries, and whether the stored tree matches it. */
interface TreeVerdict {
  readonly size: number;
  readonly rootHash: string;
  readonly matches: boolean;
}

export interface TimedVerdict extends Omit<ChainVerdict, 'tree'> {
  /** Null if the run did not begin at the first entry. */
  readonly tree: TreeVerdict | null;
  /** Roots of the recomputed tree at the requested sizes, for sizes up to the number of entries. */
  readonly roots: Readonly<Record<number, string>>;
  /** Milliseconds from the beginning of the run to the verdict. */
  readonly duration: number;
}

interface VerificationOptions {
  /** First sequence to check, including its link to the previous entry; absent for the whole chain. */
  readonly from?: number | undefined;
  /** Sizes of the Merkle tree whose roots are requested; only for the whole chain. */
  readonly sizes?: readonly number[];
  /** Aborted when the caller leaves; a run for which nobody waits ends. */
  readonly signal?: AbortSignal;
}

/** Verifies the chain in chunks, one run at a time. */
@Injectable()
export class ChainVerifier implements OnModuleDestroy {
  /** Lets a run from the beginning take its turn between two runs from other sequences. */
  private readonly gate = new Gate({ ...ONE_AT_A_TIME, label: 'verifications', mostWaiting: 4 });
  /** Runs by their first sequence. */
  private readonly runs = new Map<number, SingleFlight<number, TimedVerdict>>();
  private hashedSequence = 0;

  constructor(
    private readonly entries: EntryReader,
    private readonly tree: TreeReader,
    private readonly erasures: ErasureReader,
  ) {}

  /** @throws UNAVAILABLE if runs from too many other sequences are waiting, or the service stops */
  async verify({ from = BEGINNING, sizes = [], signal }: VerificationOptions = {}): Promise<TimedVerdict> {
    const runs = this.runs.get(from) ?? this.runsFrom(from);
    this.runs.set(from, runs);
    try {
      return await runs.call({ wishes: sizes, signal });
    } finally {
      void runs.ended().then(() => this.runs.get(from)?.isIdle === true && this.runs.delete(from));
    }
  }

  /** Last entry that the current run has hashed; 0 if none runs. */
  get at(): number {
    return this.hashedSequence;
  }

  /** Ends runs at their next chunk, before the database is closed. */
  async onModuleDestroy(): Promise<void> {
    const reason = unavailable('The service is stopping.');
    await Promise.all(Array.from(this.runs.values(), (runs) => runs.stop(reason)));
  }

  private runsFrom(from: number): SingleFlight<number, TimedVerdict> {
    const party = from === BEGINNING ? 'the beginning' : 'elsewhere';
    return new SingleFlight(({ wishes, abandoned }) =>
      this.gate.run(party, () => this.run(from, wishes, abandoned), { signal: abandoned }),
    );
  }

  /** Runs a verification; reads the next chunk while one is hashed. */
  private async run(from: number, requestedSizes: ReadonlySet<number>, abandoned: AbortSignal): Promise<TimedVerdict> {
    const begin = performance.now();
    const { sequence, hash, frontier, lastSequence, entriesBeyond } = await this.entries.extent();
    const previous = (await this.entries.lastBefore(from)) ?? CHAIN_START;
    const head = { sequence: sequence ?? CHAIN_START.sequence, hash: hash ?? CHAIN_START.hash };
    const restored = await this.erasures.restoredEntries(ERASED_TYPES);
    const sizes = from <= 1 ? requestedSizes : null;
    const hasher = openHasher({ previous, head, entriesBeyond, sizes, columns: CHUNK_NAMES, restored });
    try {
      const upTo = lastSequence ?? 0;
      let chunk = await this.entries.chunk(from - 1, upTo);
      let result = await hasher.check('[]');
      let areSubtreesStored = true;
      while (chunk !== null) {
        abandoned.throwIfAborted();
        const { last } = chunk;
        [chunk, result] = await Promise.all([this.entries.chunk(last, upTo), hasher.check(chunk.entries)]);
        areSubtreesStored &&= await this.tree.hasSubtrees(result.tree?.completed ?? []);
        this.hashedSequence = last;
      }
      const { tree: recomputed, ...verdict } = result;
      const matches = areSubtreesStored && frontier === recomputed?.frontier && (await this.tree.hasNoOtherSubtrees());
      const tree = recomputed && { size: recomputed.size, rootHash: recomputed.rootHash, matches };
      const duration = Math.round(performance.now() - begin);
      return { ...verdict, tree, roots: recomputed?.roots ?? {}, duration };
    } finally {
      this.hashedSequence = 0;
      await hasher.close();
    }
  }
}
