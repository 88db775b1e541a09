/** Compiles the benchmark, and the sources with it, and runs it. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { compilerOf, root, run } from './run.mjs';

const compiled = join(root, 'node_modules', '.cache', 'bench');

await run(process.execPath, [compilerOf(), '-p', 'bench/tsconfig.json']);
cpSync(join(root, 'src', 'operations', 'console', 'assets'), join(compiled, 'src', 'operations', 'console', 'assets'), {
  recursive: true,
});
await run(process.execPath, [join(compiled, 'bench', 'main.js'), ...process.argv.slice(2)]);
