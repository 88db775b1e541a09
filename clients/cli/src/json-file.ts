import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { readRegularFile } from './regular-file.js';

/** Loads the parser only where a file is read: a hook without a mapping starts faster without it. */
const requireLater = createRequire(import.meta.url);

/**
 * Reads a file that somebody has written as JSON, with or without a byte order mark.
 * @throws Error if it cannot be read, is not JSON, or gives a name twice in an object: the last one would count
 *   silently.
 */
export function readJsonFile(path: string | URL): unknown {
  return parseJsonFile(readFileSync(path, 'utf8'));
}

/**
 * Reads a file in the same way, but only a regular one: a program that serves others must not wait for a pipe. @throws
 * as `readJsonFile`
 */
export function readRegularJsonFile(path: string): unknown {
  return parseJsonFile(readRegularFile(path));
}

function parseJsonFile(content: string): unknown {
  const text = content.replace(/^\uFEFF/, '');
  const value: unknown = JSON.parse(text);
  // JSON is a part of YAML, whose parser finds duplicate names.
  const { parseDocument } = requireLater('yaml') as typeof import('yaml');
  const [error] = parseDocument(text, { schema: 'core', stringKeys: true }).errors;
  if (error === undefined) return value;
  const [name = ''] = /^"(?:[^"\\]|\\.)*"/.exec(text.slice(error.pos[0])) ?? [];
  const [start] = error.linePos ?? [];
  const place = start === undefined ? '' : ` at line ${start.line}, column ${start.col}`;
  throw new TypeError(error.code === 'DUPLICATE_KEY' ? `the name ${name} is given twice${place}` : error.message);
}
