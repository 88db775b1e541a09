import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPackage, compile } from '../build-package.mjs';

const folder = fileURLToPath(new URL('.', import.meta.url));
const SOURCES = ['src', '../typescript/src', 'tsconfig.json', '../typescript/tsconfig.json', 'package-lock.json'];
const madeFrom = [...SOURCES, 'build.mjs'].map((name) => join(folder, name));

await buildPackage(folder, madeFrom, (dist) => compile(folder, dist));
