/** Compiles src to dist. A build that fails or is interrupted leaves the previous `dist` as it was. */
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { compilerOf, root, run } from './run.mjs';
import { copyServedFiles } from './served-files.mjs';

const FOLDER = 'dist.new';
const [built, target] = [join(root, FOLDER), join(root, 'dist')];

rmSync(built, { recursive: true, force: true });
await run(process.execPath, [compilerOf(), '-p', 'tsconfig.build.json', '--outDir', FOLDER]);
copyServedFiles(built);
rmSync(target, { recursive: true, force: true });
renameSync(built, target);
