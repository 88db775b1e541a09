interface SentNotification {
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/**
 * Sends notifications to a client, and drops those beyond a bound on what the client has left unread: a server may send
 * more notifications than its client ever reads.
 */
export class UnreadNotifications {
  private count = 0;
  private bytes = 0;

  /**
   * @param maxCount maximum number of unread notifications
   * @param maxBytes maximum bytes of all unread notifications together; a single notification may exceed it, because
   *   the size of each message is bounded elsewhere
   */
  constructor(
    private readonly maxCount: number,
    private readonly maxBytes: number,
  ) {}

  /**
   * Sends a notification and returns true; drops it and returns false if there is no room for it.
   * @param send passes the notification on, and resolves when the client has read it or the connection has taken it
   *   over
   */
  send<Sent extends SentNotification>(notification: Sent, send: (notification: Sent) => Promise<void>): boolean {
    if (this.count >= this.maxCount) return false;
    const size = Buffer.byteLength(JSON.stringify(notification));
    if (this.count > 0 && this.bytes + size > this.maxBytes) return false;
    this.count += 1;
    this.bytes += size;
    // A failed send is ignored: the client may be disconnecting, and its calls still have to be reported.
    send(notification)
      .catch(() => undefined)
      .finally(() => {
        this.count -= 1;
        this.bytes -= size;
      });
    return true;
  }
}
