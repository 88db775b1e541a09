import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

// Both module formats from the same source: for import and for require.
const folder = fileURLToPath(new URL('.', import.meta.url));
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
rmSync(`${folder}dist`, { recursive: true, force: true });
compile('dist/esm', []);
compile('dist/cjs', ['--module', 'CommonJS', '--moduleResolution', 'Node10', '--ignoreDeprecations', '5.0']);
mkdirSync(`${folder}dist/cjs`, { recursive: true });
writeFileSync(`${folder}dist/cjs/package.json`, '{ "type": "commonjs" }\n');

function compile(outDir, options) {
  execFileSync(process.execPath, [compiler, '-p', folder, '--outDir', `${folder}${outDir}`, ...options], {
    stdio: 'inherit',
  });
}
