import { createServer } from 'node:net';

/**
 * Below the range that systems assign to connections and servers that ask for any port: one of those could be taken by somebody else
 * until the server listens, and while it is stopped.
 */
const FIRST = 20_000;
const PORTS = 12_000;

/**
 * A TCP port of loopback that nobody listens on, and that the system does not assign by itself.
 *
 * @param proposePort A random port of the range; a test gives its own.
 * @throws What `listen` reports of a port, unless somebody has it.
 */
export async function freePort(
  proposePort: () => number = () => FIRST + Math.floor(Math.random() * PORTS),
): Promise<number> {
  for (;;) {
    const port = proposePort();
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
