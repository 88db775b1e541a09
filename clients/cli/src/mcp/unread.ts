const MAX_BYTES_OF_ONE_AGENT = 32 * 2 ** 20;
const MAX_BYTES = 128 * 2 ** 20;
/** Bytes that are passed on at a time: what has been passed on is no longer counted, read or not. */
const STEP_BYTES = 65_536;

/** Counts what clients have not read of their answers: of each agent, and of all together. */
export class UnreadRoom {
  private bytes = 0;
  private readonly bytesByAgent = new Map<string, number>();

  /** @param maxBytes of all agents */
  constructor(
    private readonly maxOfOneAgent = MAX_BYTES_OF_ONE_AGENT,
    private readonly maxBytes = MAX_BYTES,
  ) {}

  /** Counts bytes of an agent, and returns true; false without room for them. */
  add(agentId: string, bytes: number): boolean {
    const ofAgent = (this.bytesByAgent.get(agentId) ?? 0) + bytes;
    if (ofAgent > this.maxOfOneAgent || this.bytes + bytes > this.maxBytes) return false;
    this.bytesByAgent.set(agentId, ofAgent);
    this.bytes += bytes;
    return true;
  }

  remove(agentId: string, bytes: number): void {
    const ofAgent = (this.bytesByAgent.get(agentId) ?? 0) - bytes;
    if (ofAgent > 0) this.bytesByAgent.set(agentId, ofAgent);
    else this.bytesByAgent.delete(agentId);
    this.bytes -= bytes;
  }
}

export interface UnreadBounds {
  readonly agentId: string;
  readonly room: UnreadRoom;
  /** Bytes of this answer that may be unread. One chunk always has room. */
  readonly maxBytes: number;
}

/**
 * The answer with a bound on what its client leaves unread: with more, the answer ends, and its connection. A server
 * may report progress and notifications for ever, and the SDK would keep all of them for a client that stops reading.
 */
export function withBoundedBody(response: Response, bounds: UnreadBounds): Response {
  if (response.body === null) return response;
  const chunks = new UnreadChunks((response.body as ReadableStream<Uint8Array>).getReader(), bounds);
  const bounded = new ReadableStream<Uint8Array>(
    {
      start: () => void chunks.receive(),
      pull: (controller) => chunks.passOn(controller),
      cancel: (reason) => chunks.cancel(reason),
    },
    // Chunks that the client has not asked for stay in `chunks`, which counts them.
    new CountQueuingStrategy({ highWaterMark: 0 }),
  );
  const { status, statusText, headers } = response;
  return new Response(bounded, { status, statusText, headers });
}

/** The chunks of one answer that its client has not read. */
class UnreadChunks {
  private readonly chunks: Uint8Array[] = [];
  /** Bytes of the first chunk that were passed on. */
  private passedBytes = 0;
  private bytes = 0;
  private isEnded = false;
  private fault: unknown = null;
  /** Called when a chunk, or the end, has come. */
  private wake: () => void = () => undefined;

  constructor(
    private readonly reader: ReadableStreamDefaultReader<Uint8Array>,
    private readonly bounds: UnreadBounds,
  ) {}

  /** Reads the answer as it comes. */
  async receive(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.reader.read();
        if (done || this.isEnded) break;
        this.add(value);
        this.wake();
      }
    } catch (error) {
      this.fault = error;
      this.drop();
      // From then on, the SDK takes the client for gone.
      await this.reader.cancel(error).catch(() => undefined);
    }
    this.isEnded = true;
    this.wake();
  }

  /** Passes the next part of a chunk on, or the end. */
  async passOn(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.chunks.length === 0 && !this.isEnded) await new Promise<void>((resolve) => (this.wake = resolve));
    const [chunk] = this.chunks;
    if (chunk !== undefined) controller.enqueue(this.take(chunk));
    else if (this.fault === null) controller.close();
    else controller.error(this.fault);
  }

  async cancel(reason: unknown): Promise<void> {
    this.isEnded = true;
    this.drop();
    await this.reader.cancel(reason);
  }

  /** @throws Error if the client leaves too much unread */
  private add(chunk: Uint8Array): void {
    const { agentId, room, maxBytes } = this.bounds;
    const isFull = this.bytes > 0 && this.bytes + chunk.length > maxBytes;
    if (isFull || !room.add(agentId, chunk.length))
      throw new Error('The client leaves too much of its answers unread.');
    this.chunks.push(chunk);
    this.bytes += chunk.length;
  }

  /** The next part of the first chunk, which counts until its last part. */
  private take(chunk: Uint8Array): Uint8Array {
    const part = chunk.subarray(this.passedBytes, this.passedBytes + STEP_BYTES);
    this.passedBytes += part.length;
    if (this.passedBytes === chunk.length) {
      this.chunks.shift();
      this.passedBytes = 0;
      this.forget(chunk.length);
    }
    return part;
  }

  private drop(): void {
    this.chunks.length = 0;
    this.passedBytes = 0;
    this.forget(this.bytes);
  }

  private forget(bytes: number): void {
    this.bytes -= bytes;
    this.bounds.room.remove(this.bounds.agentId, bytes);
  }
}
