import type { IncomingMessage } from 'node:http';

/**
 * Has Node.js read no request behind the end of a connection. It reads all requests of a packet, of which 64 KiB have
 * thousands, also when one of them has ended the connection; but it leaves alone what follows an upgrade, as that is of
 * another protocol. So a request of these, on a connection that has ended, is an upgrade, which nobody gets.
 *
 * @param requests the class of a server's requests, and of no other server's
 */
export function readNoneAfterEnd(requests: typeof IncomingMessage): void {
  const upgrades = new WeakSet<IncomingMessage>();
  Object.defineProperty(requests.prototype, 'upgrade', {
    get(this: IncomingMessage): boolean {
      return upgrades.has(this) || this.socket.destroyed;
    },
    set(this: IncomingMessage, isUpgrade: boolean | null) {
      if (isUpgrade === true) upgrades.add(this);
      else upgrades.delete(this);
    },
  });
}
