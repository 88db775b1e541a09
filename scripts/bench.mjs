/** Compiles the benchmark, and the sources with it, and runs it. */
import { cpSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root, run } from './run.mjs';

const compiled = join(root, 'node_modules', '.cache', 'bench');

const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
await run(process.execPath, [compiler, '-p', 'bench/tsconfig.json']);
cpSync(join(root, 'src', 'console', 'assets'), join(compiled, 'src', 'console', 'assets'), { recursive: true });
await run(process.execPath, [join(compiled, 'bench', 'main.js'), ...process.argv.slice(2)]);
