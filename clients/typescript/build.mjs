import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackage, compile } from '../build-package.mjs';

// Both module formats from the same source: for import and for require.
const folder = fileURLToPath(new URL('.', import.meta.url));
const COMMON_JS = ['--module', 'CommonJS', '--moduleResolution', 'Node10', '--ignoreDeprecations', '5.0'];
const madeFrom = ['src', 'tsconfig.json', 'package-lock.json', 'build.mjs'].map((name) => join(folder, name));

await buildPackage(folder, madeFrom, (dist) => {
  compile(folder, join(dist, 'esm'));
  compile(folder, join(dist, 'cjs'), COMMON_JS);
  writeFileSync(join(dist, 'cjs', 'package.json'), '{ "type": "commonjs" }\n');
});
