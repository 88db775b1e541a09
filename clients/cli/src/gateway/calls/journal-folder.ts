import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join, relative } from 'node:path';
import { SettingsError } from '../../settings.js';

/** Another gateway holds the folder. */
export class FolderHeldError extends SettingsError {}

const SOCKET = /^holder-[0-9a-f]{8}\.sock$/;
/** Bytes of a socket's path that every system takes. */
const MAX_PATH_BYTES = 100;

/**
 * Holds a folder for one gateway until its process ends, however it ends. Each gateway listens on a socket of its own
 * in the folder, and then connects to all others there: of two that start at once, at least one reaches the other.
 * @throws FolderHeldError; SettingsError if the folder cannot be used
 */
export async function holdFolder(folder: string): Promise<Server> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const own = `holder-${randomBytes(4).toString('hex')}.sock`;
  const server = createServer((socket) => socket.on('error', () => socket.destroy()).end());
  await listen(server, socketPath(folder, own));
  server.unref();
  const sockets = readdirSync(folder, { withFileTypes: true }).filter(
    (file) => file.isSocket() && SOCKET.test(file.name),
  );
  for (const { name } of sockets.filter((socket) => socket.name !== own)) {
    if (await answers(socketPath(folder, name))) {
      server.close();
      throw new FolderHeldError(`Another gateway holds the journal ${folder}. Each gateway needs a folder of its own.`);
    }
    rmSync(join(folder, name), { force: true });
  }
  return server;
}

function socketPath(folder: string, name: string): string {
  const absolute = join(folder, name);
  const fromHere = relative(process.cwd(), absolute);
  const path = fromHere.length < absolute.length ? fromHere : absolute;
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;
  throw new SettingsError(
    `The path of the journal is too long for a socket: ${folder}. Expected at most ${MAX_PATH_BYTES - name.length} bytes, ` +
      'counted from the current folder if that is shorter.',
  );
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new SettingsError(`The journal's folder takes no socket: ${error.message}. It has to be on a local disk.`),
      ),
    );
    server.listen(path, resolve);
  });
}

/** True if a process listens there. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (isHeld: boolean): void => {
      socket.destroy();
      resolve(isHeld);
    };
    socket.once('connect', () => end(true));
    // A socket whose process has ended refuses; where it is not clear, the folder counts as held.
    socket.once('error', ({ code }: NodeJS.ErrnoException) => end(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}
