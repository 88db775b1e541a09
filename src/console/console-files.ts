import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

const FOLDER = join(__dirname, 'assets');
const PAGE = 'index.html';
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface ConsoleFile {
  readonly type: string;
  readonly content: Buffer;
}

/** Where the page has room for what the service says of itself. */
export const SETTINGS_PLACE = '<!-- settings -->';

/** The page as it was built: its files are named in it by their hashes. */
export const CONSOLE_PAGE: string = readFileSync(join(FOLDER, PAGE), 'utf8');

/** What the page loads, by names that change with the content. A few small files: they are held once for all clients. */
export const CONSOLE_FILES: ReadonlyMap<string, ConsoleFile> = new Map(
  readdirSync(FOLDER)
    .filter((name) => name !== PAGE)
    .map((name) => [name, { type: typeOf(name), content: readFileSync(join(FOLDER, name)) }]),
);

function typeOf(name: string): string {
  const type = TYPES[extname(name)];
  if (type === undefined) throw new Error(`The console has a file of an unknown type: ${name}`);
  return type;
}
