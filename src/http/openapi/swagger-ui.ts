import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The page: everything it loads is served next to it, and it has no inline scripts, as the security headers require. */
const OWN = join(__dirname, 'page');
/** Swagger UI comes with @nestjs/swagger, which knows where it is. */
const PACKAGE = dirname(createRequire(require.resolve('@nestjs/swagger')).resolve('swagger-ui-dist/package.json'));
const [JAVASCRIPT, CSS] = ['text/javascript; charset=utf-8', 'text/css; charset=utf-8'];

/** Types and folders of the page and of what it loads, by path. Of the files of Swagger UI no others are served. */
const FILES: ReadonlyMap<string, readonly [type: string, folder: string, name: string]> = new Map([
  ['docs', ['text/html; charset=utf-8', OWN, 'index.html']],
  ['docs/start.js', [JAVASCRIPT, OWN, 'start.js']],
  ['docs/start.css', [CSS, OWN, 'start.css']],
  ['docs/swagger-ui.css', [CSS, PACKAGE, 'swagger-ui.css']],
  ['docs/swagger-ui-bundle.js', [JAVASCRIPT, PACKAGE, 'swagger-ui-bundle.js']],
  ['docs/favicon-16x16.png', ['image/png', PACKAGE, 'favicon-16x16.png']],
  ['docs/favicon-32x32.png', ['image/png', PACKAGE, 'favicon-32x32.png']],
]);

export const UI_PATHS: readonly string[] = [...FILES.keys()];

/** One copy in memory for all clients, so that slow ones hold no copy of their own. */
const contents = new Map<string, Buffer>();

/** @param path of the request. Undefined when the page needs no such file. */
export async function uiFile(path: string): Promise<{ readonly type: string; readonly content: Buffer } | undefined> {
  const name = path.replaceAll(/^\/|\/$/g, '');
  const found = FILES.get(name);
  if (found === undefined) return undefined;
  const [type, folder, file] = found;
  const content = contents.get(name) ?? (await readFile(join(folder, file)));
  contents.set(name, content);
  return { type, content };
}
