import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** The page: everything it loads is served next to it, and it has no inline scripts, as the security headers require. */
const OWN = join(__dirname, 'page');
const OWN_FILES: Readonly<Record<string, string>> = {
  docs: 'index.html',
  'docs/start.js': 'start.js',
  'docs/start.css': 'start.css',
};

/** Types of the page and of what it loads, by path. Of the files of Swagger UI no others are served. */
const TYPES: Readonly<Record<string, string>> = {
  docs: 'text/html; charset=utf-8',
  'docs/start.js': 'text/javascript; charset=utf-8',
  'docs/start.css': 'text/css; charset=utf-8',
  'docs/swagger-ui.css': 'text/css; charset=utf-8',
  'docs/swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'docs/favicon-16x16.png': 'image/png',
  'docs/favicon-32x32.png': 'image/png',
};

export const UI_PATHS: readonly string[] = Object.keys(TYPES);

/** One copy in memory for all clients, so that slow ones hold no copy of their own. */
const contents = new Map<string, Buffer>();

/** @param path of the request. Undefined when the page needs no such file. */
export async function uiFile(path: string): Promise<{ readonly type: string; readonly content: Buffer } | undefined> {
  const name = path.replaceAll(/^\/|\/$/g, '');
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined;
  if (type === undefined) return undefined;
  const own = OWN_FILES[name];
  const content = contents.get(name) ?? (await readFile(own === undefined ? fileOfPackage(name) : join(OWN, own)));
  contents.set(name, content);
  return { type, content };
}

/** Swagger UI comes with @nestjs/swagger, which knows where it is. */
function fileOfPackage(name: string): string {
  const fromSwagger = createRequire(require.resolve('@nestjs/swagger'));
  return join(dirname(fromSwagger.resolve('swagger-ui-dist/package.json')), basename(name));
}
