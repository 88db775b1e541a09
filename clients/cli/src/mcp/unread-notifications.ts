interface SentNotification {
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** Bounds the notifications that a client has not read: a server may send more than its client ever reads. */
export class UnreadNotifications {
  private count = 0;
  private bytes = 0;

  /** @param maxBytes bytes of several together; one alone always has room, as each message is bounded. */
  constructor(
    private readonly maxCount: number,
    private readonly maxBytes: number,
  ) {}

  /**
   * Sends a notification, and returns true; without room for it, drops it and returns false.
   * @param send resolves when the client has read it, or the connection has taken it over.
   */
  send<Sent extends SentNotification>(notification: Sent, send: (notification: Sent) => Promise<void>): boolean {
    if (this.count >= this.maxCount) return false;
    const size = Buffer.byteLength(JSON.stringify(notification));
    if (this.count > 0 && this.bytes + size > this.maxBytes) return false;
    this.count += 1;
    this.bytes += size;
    // A failure does not matter: the client may be about to disconnect, and its calls still have to be reported.
    send(notification)
      .catch(() => undefined)
      .finally(() => {
        this.count -= 1;
        this.bytes -= size;
      });
    return true;
  }
}
