import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import { type Receiver, StreamedResponses } from '../../http/responses/streamed-responses';
import { parseEntry, type ChainExtent, CHUNK_NAMES, EntryReader } from '../../ledger/reading/entry-reader';
import { rowsIn } from '../../ledger/reading/row-lists';
import type { StoredEntry } from '../../ledger/chain/stored-entry';
import { ProvenanceProofResponse } from './dto/provenance.dto';
import type { ChainHeadResponse } from './dto/verification.response';

/** Most lines sent together, and number of characters that suffice to send. */
const LINES_TOGETHER = 50;
const CHARACTERS_TOGETHER = 64 * 1024;

/** The chain as lines of JSON, up to the head when the export was opened, and a last line that names that head. */
interface OpenedExport {
  readonly head: ChainHeadResponse;
  /** Fails rather than end before the head, or omit an entry. */
  readonly stream: Readable;
}

/**
 * Reads the chain in chunks, each when the previous one has been sent, so that memory stays flat even if the client is
 * slow.
 */
@Injectable()
export class ChainExport {
  constructor(
    private readonly entries: EntryReader,
    private readonly streams: StreamedResponses,
  ) {}

  /**
   * @param after sequence before the first entry; a fault in the first lines is thrown, not streamed
   * @throws UNAVAILABLE as `StreamedResponses` does
   */
  open(after: number, receiver: Receiver): Promise<OpenedExport> {
    return this.streams.open(receiver, () => this.opened(after));
  }

  private async opened(after: number): Promise<OpenedExport> {
    const extent = await this.entries.extent();
    const chunks = this.chunks(after, extent);
    const first = await chunks.next();
    return { head: headOf(extent), stream: Readable.from(resumed(first, chunks)) };
  }

  private async *chunks(after: number, extent: ChainExtent): AsyncGenerator<string, void> {
    let last = after;
    const upTo = extent.lastSequence ?? 0;
    for (
      let chunk = await this.entries.chunk(last, upTo);
      chunk !== null;
      chunk = await this.entries.chunk(last, upTo)
    ) {
      const entries = rowsIn<StoredEntry>(chunk.entries, CHUNK_NAMES);
      refuseGaps(entries, last);
      yield* linesTogether(entries);
      last = chunk.last;
    }
    refuseAsWhole(extent, after, last);
    yield lineOf({ end: headOf(extent) });
  }
}

function headOf({ sequence, hash }: ChainExtent): ChainHeadResponse {
  if (sequence === null || hash === null) throw new Error('The head record of the chain is gone.');
  return { sequence, hash };
}

/** Throws if the entries after a sequence, up to the last given one, are not consecutive. */
function refuseGaps(entries: readonly StoredEntry[], after: number): void {
  const missing = entries.findIndex(({ sequence }, index) => sequence !== after + 1 + index);
  if (missing >= 0) throw new Error(`The entry ${after + 1 + missing} is missing.`);
}

/** Throws if the extent shows that entries between a sequence and the last one are missing. */
function refuseAsWhole(extent: ChainExtent, after: number, last: number): void {
  const { sequence, entriesBefore, entriesBeyond } = extent;
  if (sequence === null || last < sequence) {
    throw new Error(`The chain ends at ${last}, and not at its head (${sequence ?? 'which is gone'}).`);
  }
  const leftOut = entriesBeyond + (after === 0 ? entriesBefore : 0);
  if (leftOut > 0) throw new Error(`${leftOut} entries have a sequence outside 1 to 2^53 - 1.`);
}

function* linesTogether(entries: readonly StoredEntry[]): Generator<string, void> {
  let [text, lines] = ['', 0];
  for (const entry of entries) {
    text += lineOf(ProvenanceProofResponse.fromEntry(parseEntry(entry)));
    lines += 1;
    if (lines < LINES_TOGETHER && text.length < CHARACTERS_TOGETHER) continue;
    yield text;
    [text, lines] = ['', 0];
  }
  if (lines > 0) yield text;
}

function lineOf(line: ProvenanceProofResponse | { readonly end: ChainHeadResponse }): string {
  return `${JSON.stringify(line)}\n`;
}

async function* resumed(
  first: IteratorResult<string, void>,
  others: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  if (first.done === true) return;
  yield first.value;
  yield* others;
}
