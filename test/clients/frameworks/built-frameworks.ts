import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/documents/markdown';
import { type ProgramRun, run } from '../../support/processes/shell';
import { builtClient, CLIENT } from '../typescript-client';

const FRAMEWORKS = join(ROOT, 'clients', 'frameworks');
const INSTALLED = join(FRAMEWORKS, 'node_modules');

/** Builds the adapters as their users get them, and the client that they use. */
export async function builtFrameworks(): Promise<void> {
  await builtClient();
  const { exitCode, output, errors } = await run(process.execPath, ['build.mjs'], { folder: FRAMEWORKS });
  if (exitCode !== 0) throw new Error(output + errors);
}

/** The AI SDK's packages by name in clients/frameworks: every program imports one of them as `ai`. */
export type AiSdk = 'ai' | 'ai-7';

/** Installs the adapters and the frameworks in a folder of modules, with that version of the AI SDK. */
export function linkFrameworks(modules: string, sdk: AiSdk): void {
  for (const name of readdirSync(INSTALLED)) {
    const isOther = name === 'ai' || name === 'ai-7' || name.startsWith('.');
    if (!isOther) symlinkSync(join(INSTALLED, name), join(modules, name));
  }
  symlinkSync(join(INSTALLED, sdk), join(modules, 'ai'));
  symlinkSync(FRAMEWORKS, join(modules, 'agent-governance-frameworks'));
}

/** Compiles the adapter's source and a program that uses it, with the types of that version of the AI SDK. */
export function typeCheck(folder: string, program: string, sdk: AiSdk): Promise<ProgramRun> {
  const paths = {
    ai: [join(INSTALLED, sdk, 'dist', 'index.d.ts')],
    'agent-governance-client': [join(CLIENT, 'src', 'index.ts')],
    'agent-governance-frameworks/vercel-ai': [join(FRAMEWORKS, 'src', 'vercel-ai.ts')],
  };
  const compilerOptions = { noEmit: true, rootDir: '/', typeRoots: [join(INSTALLED, '@types')], paths };
  const config = { extends: join(FRAMEWORKS, 'tsconfig.json'), compilerOptions, include: [], files: [program] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  return run(process.execPath, [join(INSTALLED, 'typescript', 'bin', 'tsc'), '-p', folder]);
}
