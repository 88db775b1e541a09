import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/documents/markdown';
import { run } from '../../support/processes/shell';
import { builtClient } from '../typescript-client';

const FRAMEWORKS = join(ROOT, 'clients', 'frameworks');

/** Builds the adapters as their users get them, and the client that they use. */
export async function builtFrameworks(): Promise<void> {
  await builtClient();
  const { exitCode, output, errors } = await run('npm', ['run', '--silent', 'build'], { folder: FRAMEWORKS });
  if (exitCode !== 0) throw new Error(output + errors);
}

/** Installs the adapters and the frameworks in a folder of modules. */
export function linkFrameworks(modules: string): void {
  const installed = join(FRAMEWORKS, 'node_modules');
  for (const name of readdirSync(installed)) {
    if (!name.startsWith('.')) symlinkSync(join(installed, name), join(modules, name));
  }
  symlinkSync(FRAMEWORKS, join(modules, 'agent-governance-frameworks'));
}
