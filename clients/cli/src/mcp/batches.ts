import { Transform, type TransformCallback, type Readable, type Writable } from 'node:stream';

const [OPENING, NEWLINE] = [0x5b, 0x0a];
const SPACES: ReadonlySet<number> = new Set([0x09, 0x0d, 0x20]);
/** Bytes that are looked at for the ids of a batch. */
const MOST = 10_000_000;
const INVALID_REQUEST = -32_600;
const TEXT = 'Batches are not part of this protocol: nothing of it was done. Send each message on a line of its own.';

/**
 * The lines of a client without its batches, which the SDK would pass over in silence: each request in one is answered with an
 * error, so that nobody waits for it.
 */
export function withoutBatches(input: Readable, output: Writable): Readable {
  return input.pipe(new WithoutBatches((id) => void output.write(`${refusal(id)}\n`)));
}

class WithoutBatches extends Transform {
  private isAtStart = true;
  /** The line of a batch as far as it has come; null in any other line. */
  private batch: Buffer[] | null = null;
  private size = 0;

  constructor(private readonly refuse: (id: unknown) => void) {
    super();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    for (let rest = chunk; rest.length > 0;) {
      const end = rest.indexOf(NEWLINE) + 1;
      const part = end === 0 ? rest : rest.subarray(0, end);
      rest = rest.subarray(part.length);
      this.sort(part, end > 0);
    }
    done();
  }

  private sort(part: Buffer, isEnd: boolean): void {
    const first = this.isAtStart ? part.find((byte) => !SPACES.has(byte)) : undefined;
    if (first === OPENING) this.batch = [];
    if (first !== undefined) this.isAtStart = false;
    if (this.batch === null) this.push(part);
    else if ((this.size += part.length) < MOST) this.batch.push(part);
    if (!isEnd) return;
    if (this.batch !== null) idsIn(this.batch).forEach(this.refuse);
    this.batch = null;
    this.size = 0;
    this.isAtStart = true;
  }
}

/** Of its requests; null, as JSON-RPC has it, where there is none. */
function idsIn(line: readonly Buffer[]): unknown[] {
  try {
    const batch = JSON.parse(Buffer.concat(line).toString('utf8')) as readonly ({
      id?: unknown;
      method?: unknown;
    } | null)[];
    const ids = batch.flatMap((one) => (one?.id !== undefined && one.method !== undefined ? [one.id] : []));
    return ids.length > 0 ? ids : [null];
  } catch {
    return [null];
  }
}

function refusal(id: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message: TEXT } });
}
