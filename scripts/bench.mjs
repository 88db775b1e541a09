/** Compiles the benchmark, and the sources with it, and runs it. */
import { join } from 'node:path';
import { compilerOf, root, run } from './run.mjs';
import { copyServedFiles } from './served-files.mjs';

const compiled = join(root, 'node_modules', '.cache', 'bench');

await run(process.execPath, [compilerOf(), '-p', 'bench/tsconfig.json']);
copyServedFiles(join(compiled, 'src'));
await run(process.execPath, [join(compiled, 'bench', 'main.js'), ...process.argv.slice(2)]);
