import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
rmSync(`${folder}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [compiler, '-p', folder], { stdio: 'inherit' });
