/** Compiles src to dist. A build that fails or is interrupted leaves the previous one as it was. */
import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { compilerOf, root, run } from './run.mjs';

const FOLDER = 'dist.new';
const [built, target] = [join(root, FOLDER), join(root, 'dist')];

rmSync(built, { recursive: true, force: true });
await run(process.execPath, [compilerOf(), '-p', 'tsconfig.build.json', '--outDir', FOLDER]);
cpSync(join(root, 'src', 'operations', 'console', 'assets'), join(built, 'operations', 'console', 'assets'), {
  recursive: true,
});
rmSync(target, { recursive: true, force: true });
renameSync(built, target);
