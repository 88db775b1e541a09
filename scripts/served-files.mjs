import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';

/** Folders in src whose files the service serves as they are. */
const SERVED = [join('operations', 'console', 'assets'), join('http', 'openapi', 'page')];

/**
 * Copies the files that the service serves from src.
 * @param {string} target folder of the compiled sources
 */
export function copyServedFiles(target) {
  for (const folder of SERVED) cpSync(join(root, 'src', folder), join(target, folder), { recursive: true });
}
