import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The files of Swagger UI that the page needs; no other file of the package is served. */
const ASSET_TYPES: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-16x16.png', 'image/png'],
  ['favicon-32x32.png', 'image/png'],
]);

const contents = new Map<string, Buffer>();

/** The names of these files. */
export const UI_ASSETS: readonly string[] = [...ASSET_TYPES.keys()];

export interface UiAsset {
  readonly type: string;
  readonly content: Buffer;
}

/** A file of Swagger UI by its name; undefined when the page needs no such file. */
export async function uiAsset(name: string): Promise<UiAsset | undefined> {
  const type = ASSET_TYPES.get(name);
  return type === undefined ? undefined : { type, content: await contentOf(name) };
}

/** One copy in memory for all clients, so that slow ones hold no copy of their own. */
async function contentOf(name: string): Promise<Buffer> {
  const known = contents.get(name);
  if (known !== undefined) return known;
  const content = await readFile(join(uiFolder(), name));
  contents.set(name, content);
  return content;
}

/** Swagger UI comes with @nestjs/swagger, which knows where it is. */
function uiFolder(): string {
  const fromSwagger = createRequire(require.resolve('@nestjs/swagger'));
  return dirname(fromSwagger.resolve('swagger-ui-dist/package.json'));
}
