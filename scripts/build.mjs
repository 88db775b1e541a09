/** Compiles src to dist. A build that fails or is interrupted leaves the previous one as it was. */
import { cpSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root, run } from './run.mjs';

const FOLDER = 'dist.new';
const [built, target] = [join(root, FOLDER), join(root, 'dist')];

rmSync(built, { recursive: true, force: true });
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
await run(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--outDir', FOLDER]);
cpSync(join(root, 'src', 'console', 'assets'), join(built, 'console', 'assets'), { recursive: true });
rmSync(target, { recursive: true, force: true });
renameSync(built, target);
