import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const MAX_FILES = 30;
const MAX_LINES = 500;
const MIN_MEDIAN_LINES = 45;

const DOCUMENT = resolve(__dirname, '../docs/architecture.md');
const EXAMPLE = resolve(__dirname, '../examples/incidents');
/** A line of the document's ladders: a folder, and its rooms from the lowest step to the highest. */
const LADDER = /^(src\S*): (.+)$/gm;
const IMPORT = /^(?:import|export)\s[^;]*?from\s+'(\.[^']+)'/gms;

/** Folders that are not written by hand. */
const MADE = /^(?:node_modules|dist|assets)/;

/** Imports and re-exports of a file, as paths from the root of the repository. */
type Imports = ReadonlyMap<string, readonly string[]>;

function isSource(name: string): boolean {
  return name.endsWith('.ts') && !name.endsWith('.spec.ts');
}

function foldersBelow(folder: string): string[] {
  const inside = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !MADE.test(entry.name),
  );
  return [folder, ...inside.flatMap(({ name }) => foldersBelow(join(folder, name)))];
}

function namesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
}

/** The sources of the whole repository. */
const WRITTEN = ['src', 'test', 'bench', 'scripts', 'verifier', 'clients', 'console']
  .flatMap((name) => foldersBelow(resolve(__dirname, '..', name)))
  .flatMap((folder) => namesIn(folder).map((name) => join(folder, name)))
  .filter((file) => /\.(?:ts|tsx|mjs)$/.test(file));
const SILENCER = /(?:eslint|oxlint)[-]disable|@ts[-](?:ignore|expect-error|nocheck)/;

const FOLDERS = foldersBelow(__dirname);
const FILES = FOLDERS.flatMap((folder) =>
  namesIn(folder)
    .filter(isSource)
    .map((name) => join(folder, name)),
);
const relativePath = (path: string): string => relative(resolve(__dirname, '..'), path);

function linesOf(file: string): number {
  return readFileSync(file, 'utf8').split('\n').length - 1;
}

function importsOf(file: string): string[] {
  const paths = [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, path = '']) => path);
  return paths.map((path) => relativePath(`${join(dirname(file), path)}.ts`));
}

const IMPORTS: Imports = new Map(FILES.map((file) => [relativePath(file), importsOf(file)]));

/** The file or folder directly in `folder` that contains a path; undefined if the path lies elsewhere. */
function roomIn(folder: string, path: string): string | undefined {
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split('/')[0] : undefined;
}

/** Returns which rooms of a folder import which, and in which file. */
function arrowsIn(folder: string): { from: string; to: string; file: string }[] {
  return [...IMPORTS].flatMap(([file, paths]) =>
    paths.flatMap((path) => {
      const [from, to] = [roomIn(folder, file), roomIn(folder, path)];
      return from === undefined || to === undefined || from === to ? [] : [{ from, to, file: `${file} -> ${path}` }];
    }),
  );
}

/** Returns the arrows that are part of a cycle, which remain after repeatedly removing rooms that import no other. */
function circlesIn(folder: string): string[] {
  let arrows = arrowsIn(folder);
  for (;;) {
    const [importing, imported] = [new Set(arrows.map(({ from }) => from)), new Set(arrows.map(({ to }) => to))];
    const rest = arrows.filter(({ from, to }) => importing.has(to) && imported.has(from));
    if (rest.length === arrows.length) return rest.map(({ file }) => file);
    arrows = rest;
  }
}

const LADDERS = [...readFileSync(DOCUMENT, 'utf8').matchAll(LADDER)].map(([, folder = '', steps = '']) => ({
  folder,
  steps: steps.split(' < ').map((step) => step.split(' ')),
}));

/** Returns the step of a room; a room that is not named belongs to the step with the `*`. */
function stepOf(room: string, steps: readonly (readonly string[])[]): number {
  const index = steps.findIndex((step) => step.includes(room));
  return index >= 0 ? index : steps.findIndex((step) => step.includes('*'));
}

const EXPORT = /^export (?:declare |abstract |async )*(?:function\*?|class|const|let|interface|type|enum) (\w+)/gm;
/** The caller of the ledger and the parameter decorator that passes it to a handler: one type, exported with each. */
const SAME_MEANING = new Set(['Caller']);
/**
 * `Parsed`, `Reading` and `Revisioned` are part of the package's interface; the others are names of the HTTP status and
 * of nouns.
 */
const NAMES = new Set(['Parsed', 'Reading', 'Revisioned', 'unauthorized', 'descent', 'Agent', 'Environment', 'Moment']);
const PARTICIPLE = /^[A-Z]?[a-z]+(?:ed|ing|ound|ept|ade|old|own|iven|ent)$/;

function exportsOf(file: string): string[] {
  return [...new Set([...readFileSync(file, 'utf8').matchAll(EXPORT)].map(([, name = '']) => name))];
}

describe('The source', () => {
  it('exports no name from two files', () => {
    const names = FILES.flatMap(exportsOf).filter((name) => !SAME_MEANING.has(name));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('exports no participle alone', () => {
    const names = FILES.flatMap(exportsOf).filter((name) => PARTICIPLE.test(name));
    expect(names.filter((name) => !NAMES.has(name))).toEqual([]);
  });

  it('has no import cycle among the files and folders of any folder', () => {
    expect(FOLDERS.flatMap((folder) => circlesIn(relativePath(folder)))).toEqual([]);
  });

  it('imports only downwards, by the order of rooms in docs/architecture.md', () => {
    expect(LADDERS.map(({ folder }) => folder)).toEqual(['src', 'src/core', 'src/ledger', 'src/http']);
    const upwards = LADDERS.flatMap(({ folder, steps }) =>
      arrowsIn(folder).filter(({ from, to }) => stepOf(to, steps) > stepOf(from, steps)),
    );
    expect(upwards.map(({ file }) => file)).toEqual([]);
  });

  it.each(['governance', 'evidence', 'operations', 'program'])(
    'has every room of %s in docs/architecture.md',
    (wing) => {
      const [row = ''] = new RegExp(`^\\| \`${wing}/\`.*$`, 'm').exec(readFileSync(DOCUMENT, 'utf8')) ?? [];
      const rooms = readdirSync(join(__dirname, wing), { withFileTypes: true }).filter((entry) => entry.isDirectory());
      expect(rooms.map(({ name }) => name).filter((name) => !row.includes(`\`${name}\``))).toEqual([]);
    },
  );

  it('has every file that the module of docs/extending.md imports', () => {
    const files = foldersBelow(EXAMPLE).flatMap((folder) => namesIn(folder).map((name) => join(folder, name)));
    // The page puts it into src/.
    const imported = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, path = '']) =>
        join(__dirname, relative(dirname(EXAMPLE), dirname(file)), `${path}.ts`),
      ),
    );
    const own = new Set(files.map((file) => join(__dirname, relative(dirname(EXAMPLE), file))));
    expect(imported.filter((path) => !own.has(path) && !existsSync(path)).map(relativePath)).toEqual([]);
  });

  it('normalises texts in one place only, which takes no long time for any', () => {
    const allowed = /normal-form\.(?:ts|mjs)$|\.migration\.ts$/;
    const ofVerifier = WRITTEN.filter((file) => file.startsWith(resolve(__dirname, '../verifier')));
    const callers = [...FILES, ...ofVerifier]
      .filter((file) => !allowed.test(file) && readFileSync(file, 'utf8').includes('.normalize('))
      .map(relativePath);
    expect(callers).toEqual([]);
  });

  it('never silences the linter or the compiler', () => {
    expect(WRITTEN.filter((file) => SILENCER.test(readFileSync(file, 'utf8'))).map(relativePath)).toEqual([]);
  });

  it(`has at most ${MAX_FILES} files in a folder`, () => {
    expect(FOLDERS.filter((folder) => namesIn(folder).length > MAX_FILES).map(relativePath)).toEqual([]);
  });

  it(`has at most ${MAX_LINES} lines in a file`, () => {
    expect(FILES.filter((file) => linesOf(file) > MAX_LINES).map(relativePath)).toEqual([]);
  });

  it(`has ${MIN_MEDIAN_LINES} lines in half of its files, as what belongs together stands together`, () => {
    const sizes = FILES.map(linesOf).sort((a, b) => a - b);
    expect(sizes[Math.floor(sizes.length / 2)]).toBeGreaterThanOrEqual(MIN_MEDIAN_LINES);
  });
});
