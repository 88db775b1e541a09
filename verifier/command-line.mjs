import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { addKinds } from './hashed-forms.mjs';
import { parseCheckpoint, parseVerifierKey } from './checkpoint.mjs';

export const USAGE = `Usage: verify <export.ndjson … | database.db> [options]

Verifies an export of the chain (several files are read as one, - is standard input) or a SQLite database, without the
service.

  --checkpoint FILE    a checkpoint that was kept; may be given several times
  --public-key KEY     whose signatures count: a verifier key, or a file with it; may be given several times
  --head SEQUENCE:HASH where the chain must end, as X-Head-Sequence and X-Head-Hash of the export said
  --kinds FILE         JSON with the hashed forms of kinds that modules have added, by subject type; only for a database
  --allow-unended      takes an export without its last line, {"end": …}, as earlier versions of the service made it
  --json               the result as JSON
  --help               this

Ends with 0 when everything is valid, 1 when something is not, 2 when it could not be read, 3 when an export is valid as far as
it goes, and has no end.
`;

const SQLITE_HEADER = 'SQLite format 3\0';
const HEAD = /^(\d{1,16}):([0-9a-f]{64})$/;

/** A command line that cannot be carried out. */
export class UsageError extends Error {
  /** Shown below the message. */
  help = '';
}

/**
 * @typedef {object} Order
 * @property {string[]} files
 * @property {boolean} isDatabase
 * @property {{ name: string, checkpoint: import('./checkpoint.mjs').Checkpoint }[]} checkpoints
 * @property {import('./checkpoint.mjs').VerifierKey[]} keys
 * @property {{ sequence: number, hash: string } | null} head
 * @property {boolean} mayBeUnended
 * @property {boolean} asJson
 */

/**
 * @param {string[]} words
 * @returns {Order | null} null if only the usage was asked for
 * @throws {UsageError}
 */
export function readCommandLine(words) {
  const { values, positionals: files } = parse(words);
  if (values.help) return null;
  if (files.length === 0) throw withUsage('There is nothing to verify: name an export or a database.');
  const databases = files.filter((file) => file !== '-' && isDatabase(file));
  if (databases.length > 0 && files.length > 1) throw new UsageError('A database is verified alone.');
  const { kinds } = values;
  if (kinds !== undefined) readAs(kinds, (text) => addKinds(JSON.parse(text)));
  return {
    files,
    isDatabase: databases.length > 0,
    checkpoints: values.checkpoint.map((name) => ({ name, checkpoint: readAs(name, checkpointIn) })),
    keys: values['public-key'].map((key) =>
      existsSync(key) ? readAs(key, parseVerifierKey) : parsedAs(key, key, parseVerifierKey),
    ),
    head: values.head === undefined ? null : parsedAs('--head', values.head, headIn),
    mayBeUnended: values['allow-unended'],
    asJson: values.json,
  };
}

/** @param {string[]} words */
function parse(words) {
  try {
    return parseArgs({
      args: words,
      allowPositionals: true,
      options: {
        checkpoint: { type: 'string', multiple: true, default: [] },
        'public-key': { type: 'string', multiple: true, default: [] },
        head: { type: 'string' },
        kinds: { type: 'string' },
        'allow-unended': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw withUsage(messageOf(error));
  }
}

/** @param {string} message */
function withUsage(message) {
  return Object.assign(new UsageError(message), { help: `\n${USAGE}` });
}

/** @param {string} path */
function isDatabase(path) {
  const descriptor = orUsageError(path, () => openSync(path, 'r'));
  try {
    const start = Buffer.alloc(SQLITE_HEADER.length);
    readSync(descriptor, start, 0, start.length, 0);
    return start.toString('latin1') === SQLITE_HEADER;
  } catch {
    // A pipe cannot be read at an offset, and it is not a database.
    return false;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * A note as it is, or the whole answer of `GET /provenance/checkpoint`.
 * @param {string} text
 */
function checkpointIn(text) {
  const note = /** @type {unknown} */ (text.startsWith('{') ? JSON.parse(text).checkpoint : text);
  return parseCheckpoint(String(note));
}

/** @param {string} text */
function headIn(text) {
  const [, sequence, hash] = HEAD.exec(text) ?? [];
  if (hash === undefined) throw new Error('a head is SEQUENCE:HASH');
  return { sequence: Number(sequence), hash };
}

/**
 * @template Result
 * @param {string} path
 * @param {(text: string) => Result} read
 */
function readAs(path, read) {
  return parsedAs(
    path,
    orUsageError(path, () => readFileSync(path, 'utf8')),
    read,
  );
}

/**
 * @template Result
 * @param {string} name
 * @param {string} text
 * @param {(text: string) => Result} read
 */
function parsedAs(name, text, read) {
  return orUsageError(name, () => read(text));
}

/**
 * @template Result
 * @param {string} name
 * @param {() => Result} work
 */
function orUsageError(name, work) {
  try {
    return work();
  } catch (error) {
    throw new UsageError(`${name}: ${messageOf(error)}`);
  }
}

/** @param {unknown} error */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
