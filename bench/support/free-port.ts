import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the range that systems assign to connections and servers that ask for any port: one of those could be taken by somebody else
 * until the server listens, and while it is stopped.
 */
const FIRST = 20_000;
const PORTS = 12_000;

/** A TCP port of loopback that nobody listens on, and that the system does not assign by itself. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isListening = await Promise.race([
    once(server, 'listening').then(() => true),
    once(server, 'error').then(() => false),
  ]);
  if (isListening) await once(server.close(), 'close');
  return isListening;
}
