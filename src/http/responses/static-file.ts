import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { StreamableFile } from '@nestjs/common';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Contents in memory, shared by all clients, so that slow clients hold no copies. */
const contents = new Map<string, Buffer>();

/** Returns a file of the installation, read at its first request. Its type follows from its name. */
export function staticFile(path: string): StreamableFile {
  const type = TYPES[extname(path)];
  if (type === undefined) throw new Error(`A file of an unknown type cannot be served: ${path}`);
  const content = contents.get(path) ?? readFileSync(path);
  contents.set(path, content);
  return new StreamableFile(content, { type });
}
