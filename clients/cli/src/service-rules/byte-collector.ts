/**
 * Collects the bytes of a body in one buffer. A buffer for each chunk would take hundreds of bytes for each byte of a
 * body that arrives byte by byte.
 */
export class ByteCollector {
  private buffer: Buffer = Buffer.alloc(0);
  /** Number of bytes so far. */
  length = 0;

  /** @param maxBytes most bytes that `add` is given in all */
  constructor(private readonly maxBytes: number) {}

  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    // Most bodies are one chunk, which is not copied.
    if (this.length === 0) this.buffer = chunk;
    else {
      if (length > this.buffer.length) this.grow(length);
      chunk.copy(this.buffer, this.length);
    }
    this.length = length;
  }

  /** Returns all bytes. Nothing may be added afterwards. */
  bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  private grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(length, Math.min(2 * length, this.maxBytes)));
    this.bytes().copy(larger);
    this.buffer = larger;
  }
}
