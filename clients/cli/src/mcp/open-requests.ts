import { MAX_MESSAGE_BYTES } from './servers/messages.js';

/**
 * Maximum number of requests of a client that are served at a time, including subscriptions, and their bytes together.
 */
const MAX_OPEN = 1_000;
const MAX_OPEN_BYTES = 4 * MAX_MESSAGE_BYTES;

/** The requests of a client that are neither answered nor cancelled: each stays in memory. */
export class OpenRequests {
  /** Bytes of each request, by its id. */
  private readonly sizes = new Map<unknown, number>();
  private bytes = 0;

  /** Notes a request. Returns null, or why the request is refused. */
  begin(id: unknown, bytes: number): string | null {
    if (this.sizes.has(id)) return 'The id of a request is in use by another.';
    if (this.sizes.size >= MAX_OPEN || this.bytes + bytes > MAX_OPEN_BYTES)
      return 'Too many requests are not answered yet.';
    this.sizes.set(id, bytes);
    this.bytes += bytes;
    return null;
  }

  end(id: unknown): void {
    this.bytes -= this.sizes.get(id) ?? 0;
    this.sizes.delete(id);
  }
}
