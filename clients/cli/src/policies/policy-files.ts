import { isUtf8 } from 'node:buffer';
import { readdirSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import type { Schemas } from '../../../typescript/src/index.js';
import { plain } from '../output.js';
import { SettingsError } from '../settings.js';
import { PolicyFile } from './policy-file.js';

export type Policy = Schemas['CreatePolicyRequest'];
export type DeclaredAgent = Schemas['CreateAgentRequest'];
export type PolicyTest = Schemas['PolicyTestRequest'];

/** Bytes of one file; a set may have many. */
const MAX_FILE_BYTES = 1_048_576;
const EXTENSIONS: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json']);

/** A part of a set, and its place. */
interface Origin {
  readonly file: PolicyFile;
  readonly list: 'policies' | 'tests' | 'agents';
  readonly index: number;
}

/** A fault of a member of a request, as the service or a schema reports it. */
interface Fault {
  readonly field: string;
  readonly message: string;
}

/**
 * All policy files of a folder: one set of policies, with tests of it and agents. Their content is checked by `lint`
 * and by the service.
 */
export class PolicyFiles {
  private readonly origins: Readonly<Record<Origin['list'], readonly Origin[]>>;

  constructor(
    readonly files: readonly PolicyFile[],
    /** Paths of what is in the folders and was not read. */
    readonly otherFiles: readonly string[],
  ) {
    const originsOf = (list: Origin['list']): Origin[] =>
      files.flatMap((file) => file[list].map((_, index) => ({ file, list, index })));
    this.origins = { policies: originsOf('policies'), tests: originsOf('tests'), agents: originsOf('agents') };
  }

  get policies(): Policy[] {
    return this.files.flatMap(({ policies }) => policies as Policy[]);
  }

  get tests(): PolicyTest[] {
    return this.files.flatMap(({ tests }) => tests as PolicyTest[]);
  }

  get agents(): DeclaredAgent[] {
    return this.files.flatMap(({ agents }) => agents as DeclaredAgent[]);
  }

  /** Returns a fault of the whole set, with the file and line that it concerns, if any. */
  withLocation({ field, message }: Fault): string {
    const [, list, index, path = ''] = /^(policies|tests|agents)\[(\d+)\](.*)$/.exec(field) ?? [];
    const origin = list === undefined ? undefined : this.origins[list as Origin['list']][Number(index)];
    if (origin === undefined) return `${field}: ${message}`;
    const own = message.replace(
      /\b(policies|tests|agents)\[(\d+)\](\.\w+)?/g,
      (text, otherList: Origin['list'], indexText: string) => {
        const origin = this.origins[otherList][Number(indexText)];
        return origin === undefined ? text : origin.file.placeOf(`${otherList}[${origin.index}]`);
      },
    );
    const ownField = `${origin.list}[${origin.index}]${path}`;
    return `${origin.file.placeOf(ownField)}: ${ownField} ${own}`;
  }
}

/** The files in some paths and folders, each once, whichever links lead to it. */
interface FileSearch {
  readonly files: string[];
  /** Files in the folders that are not read. */
  readonly otherFiles: string[];
  /** Real paths of what was looked at. */
  readonly visited: Set<string>;
}

/** @throws SettingsError if nothing is found, or a file is not well-formed. */
export function readPolicyFiles(paths: readonly string[]): PolicyFiles {
  const search: FileSearch = { files: [], otherFiles: [], visited: new Set() };
  for (const path of paths) find(path, statsAt(path).isDirectory() ? realpathSync(path) : null, search);
  if (search.files.length === 0) {
    throw new SettingsError(`There are no policy files (.yaml, .yml, .json) in ${plain(paths.join(', '))}.`);
  }
  const files = search.files.map((path) => new PolicyFile(plain(path), textOf(path)));
  const faults = files.flatMap((file) => file.faults);
  if (faults.length > 0) throw new SettingsError(...faults);
  return new PolicyFiles(files, search.otherFiles);
}

/**
 * Returns the text of a file, without a byte order mark. @throws SettingsError if it is not UTF-8: replaced characters
 * would match something else.
 */
function textOf(path: string): string {
  const bytes = readFileSync(path);
  if (!isUtf8(bytes)) throw new SettingsError(`${plain(path)}: This is not UTF-8. Save it in that encoding.`);
  return new TextDecoder().decode(bytes);
}

/**
 * Follows links within the folder `root`. One that leads out of it is an error, not passed over: with --prune that
 * would take its policies out of force. A path that the user names may be a link to anywhere.
 */
function find(path: string, root: string | null, search: FileSearch): void {
  const stats = statsAt(path);
  const place = realpathSync(path);
  if (root !== null && place !== root && !place.startsWith(root.endsWith(sep) ? root : `${root}${sep}`))
    throw new SettingsError(`${plain(path)} is a link out of the folder: put the file there, or name it itself.`);
  if (search.visited.has(place)) return;
  search.visited.add(place);
  if (!stats.isDirectory()) {
    requireReadable(path, stats);
    search.files.push(path);
    return;
  }
  for (const name of readdirSync(path).sort()) {
    const inside = join(path, name);
    if (isPolicyPlace(name, inside)) find(inside, root, search);
    else search.otherFiles.push(inside);
  }
}

/**
 * @throws SettingsError if the path is no regular file, such as a device or a pipe, which may never end, or is too
 * large.
 */
function requireReadable(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new SettingsError(`${plain(path)} is not a regular file.`);
  if (stats.size > MAX_FILE_BYTES)
    throw new SettingsError(`${plain(path)} has more than ${MAX_FILE_BYTES} bytes. Split it into several files.`);
}

/** @throws SettingsError where there is nothing, or a link leads nowhere. */
function statsAt(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new SettingsError(
      code === 'ENOENT'
        ? `There is no file or folder ${plain(path)}.`
        : `A policy file cannot be read: ${plain(message)}`,
    );
  }
}

/**
 * True for a folder or a policy file. A hidden name is passed over without opening it: editors keep their locks as
 * hidden links that lead nowhere.
 */
function isPolicyPlace(name: string, path: string): boolean {
  if (name.startsWith('.') || name === 'node_modules') return false;
  return statsAt(path).isDirectory() || EXTENSIONS.has(extname(name).toLowerCase());
}
