import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../../../bench/support/free-port';
import { ROOT } from '../../support/documents/markdown';

const PACKAGES = join(ROOT, 'clients', 'frameworks', 'node_modules', '@modelcontextprotocol');
const EVERYTHING = join(PACKAGES, 'server-everything', 'dist', 'index.js');
export const CONFORMANCE = join(PACKAGES, 'conformance', 'dist', 'index.js');

/** Entries of `mcpServers` for servers from the registry, over pipes. */
export const everything = { command: process.execPath, args: [EVERYTHING, 'stdio'] };
export function filesystem(folder: string): { command: string; args: string[] } {
  return { command: process.execPath, args: [join(PACKAGES, 'server-filesystem', 'dist', 'index.js'), folder] };
}

/** The same server over HTTP. */
export async function startEverything(): Promise<{ url: string; close: () => Promise<void> }> {
  // Without a free port it would choose 3001.
  const port = await freePort();
  const words = [EVERYTHING, 'streamableHttp'];
  const server = spawn(process.execPath, words, { env: { ...process.env, PORT: String(port) } });
  await saying(server, /listening on port/i);
  return { url: `http://127.0.0.1:${port}/mcp`, close: () => ended(server) };
}

/** Waits for a line of either stream, and returns what it matched. */
export async function saying(program: ChildProcess, expected: RegExp): Promise<string> {
  let output = '';
  return new Promise((resolve, reject) => {
    for (const stream of [program.stdout, program.stderr])
      stream?.setEncoding('utf8').on('data', (part: string) => {
        output += part;
        const match = expected.exec(output);
        if (match !== null) resolve(match[1] ?? match[0]);
      });
    program.once('close', () => reject(new Error(`It ended: ${output}`)));
  });
}

export async function ended(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const closing = once(program, 'close');
  program.kill();
  await closing;
}
