import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as Client from '../../clients/typescript/src/index.js' with { 'resolution-mode': 'import' };
import { ROOT } from '../support/documents/markdown';
import { run } from '../support/processes/shell';

export const CLIENT = join(ROOT, 'clients', 'typescript');

let built: Promise<typeof Client> | undefined;

/** Installs and builds the client as its users get it, and loads its CommonJS form. */
export function builtClient(): Promise<typeof Client> {
  built ??= build();
  return built;
}

async function build(): Promise<typeof Client> {
  await succeed(process.execPath, [join(ROOT, 'scripts', 'ensure-clients.mjs')]);
  await succeed(process.execPath, ['build.mjs']);
  return createRequire(__filename)(join(CLIENT, 'dist', 'cjs', 'index.js')) as typeof Client;
}

/** Runs a program in the client's folder. @throws Error with its output if it fails. */
export async function succeed(program: string, words: readonly string[]): Promise<string> {
  const { output, errors, exitCode } = await run(program, words, { folder: CLIENT });
  if (exitCode !== 0) throw new Error(output + errors);
  return output;
}
