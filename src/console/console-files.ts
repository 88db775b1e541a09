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

/** The placeholder in the page for settings of the service. */
export const SETTINGS_PLACE = '<!-- settings -->';

/** The page as built: it refers to its files by names that contain their hashes. */
export const CONSOLE_PAGE: string = readFileSync(join(FOLDER, PAGE), 'utf8');

/**
 * The files of the page, under names that change with their content. They are few and small: one copy in memory serves
 * all clients.
 */
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
