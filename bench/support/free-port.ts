import { createServer } from 'node:net';

/**
 * The first port. All ports are below the range that systems assign to connections, and to servers that ask for any
 * port: somebody else could take such a port before the server listens, or while it is stopped.
 */
const FIRST = 20_000;
const PORTS = 12_000;

/**
 * Returns a TCP port of loopback on which nobody listens, and which the system does not assign by itself.
 *
 * @param proposePort returns a random port of the range; tests pass a function of their own
 * @throws the errors of `listen`, except that the port is in use
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
