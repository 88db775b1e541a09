import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Schemas } from '../../../typescript/src/index.js';
import { SettingsError } from '../settings.js';
import { PolicyFile } from './policy-file.js';

export type Policy = Schemas['CreatePolicyRequest'];
export type PolicyTest = Schemas['PolicyTestRequest'];

const EXTENSIONS: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json']);

/** A part of a set, and its place. */
interface Origin {
  readonly file: PolicyFile;
  readonly list: 'policies' | 'tests';
  readonly index: number;
}

/** A fault of a member of a request, as the service or a schema reports it. */
interface Fault {
  readonly field: string;
  readonly message: string;
}

/** All policy files of a folder: one set of policies, and tests of it. Their content is checked by `lint` and by the service. */
export class PolicyFiles {
  private readonly origins: Readonly<Record<Origin['list'], readonly Origin[]>>;

  constructor(readonly files: readonly PolicyFile[]) {
    const originsOf = (list: Origin['list']): Origin[] =>
      files.flatMap((file) => file[list].map((_, index) => ({ file, list, index })));
    this.origins = { policies: originsOf('policies'), tests: originsOf('tests') };
  }

  get policies(): Policy[] {
    return this.files.flatMap(({ policies }) => policies as Policy[]);
  }

  get tests(): PolicyTest[] {
    return this.files.flatMap(({ tests }) => tests as PolicyTest[]);
  }

  /** A fault of the whole set, with the file and line that it concerns, if any. */
  located({ field, message }: Fault): string {
    const [, list, index, rest = ''] = /^(policies|tests)\[(\d+)\](.*)$/.exec(field) ?? [];
    const origin = list === undefined ? undefined : this.origins[list as Origin['list']][Number(index)];
    if (origin === undefined) return `${field}: ${message}`;
    const own = message.replace(/\b(policies|tests)\[(\d+)\](\.\w+)?/g, (text, other: Origin['list'], at: string) => {
      const meant = this.origins[other][Number(at)];
      return meant === undefined ? text : meant.file.placeOf(`${other}[${meant.index}]`);
    });
    const ownField = `${origin.list}[${origin.index}]${rest}`;
    return `${origin.file.placeOf(ownField)}: ${ownField} ${own}`;
  }
}

/** @throws SettingsError if nothing is found, or a file is not well-formed. */
export function readPolicyFiles(paths: readonly string[]): PolicyFiles {
  const found = paths.flatMap(policyFilesAt);
  if (found.length === 0) {
    throw new SettingsError(`There are no policy files (.yaml, .yml, .json) in ${paths.join(', ')}.`);
  }
  const files = found.map((path) => new PolicyFile(path, readFileSync(path, 'utf8')));
  const faults = files.flatMap((file) => file.faults);
  if (faults.length > 0) throw new SettingsError(faults.join('\n'));
  return new PolicyFiles(files);
}

function policyFilesAt(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new SettingsError(`There is no file or folder ${path}.`);
  if (!stat.isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      if (entry.isDirectory()) return policyFilesAt(join(path, entry.name));
      return EXTENSIONS.has(extname(entry.name)) ? [join(path, entry.name)] : [];
    });
}
