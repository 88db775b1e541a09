import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { addKinds } from './hashed-forms.mjs';
import { parseCheckpoint, parseVerifierKey } from './checkpoint.mjs';

export const USAGE = `Usage: verify <export.ndjson … | database.db | execution.evidence.json> [options]

Verifies an export of the chain (several files are read as one, - is standard input) or a SQLite database, without the
service. Recomputes the decision that a decision file holds; this needs --public-key.

  --checkpoint FILE    a checkpoint that you kept; may be given several times
  --public-key KEY     the key whose signatures count: a verifier key, or a file with it; may be given several times
  --head SEQUENCE:HASH where the chain must end: X-Head-Sequence and X-Head-Hash of the export
  --export FILE        only for a decision file: all entries of the log, to compare it with; may be given several times
  --kinds FILE         JSON with the hashed forms of kinds that modules have added, by subject type; only for a database
  --allow-unended      accepts an export without its last line, {"end": …}, as earlier versions of the service made it
  --json               the result as JSON
  --help               show this text

Exit codes: 0 everything is valid and as recorded, 1 something is not, 2 it could not be read or decided, 3 nothing is wrong,
but an export has no end, or a decision file lacks what it would be recomputed from.
`;

const SQLITE_HEADER = 'SQLite format 3\0';
/**
 * Each decision file begins with this text, because RFC 8785 sorts its members. A file with `DECISION_NAME` at the end
 * of its name is read as a decision file even if it begins with another text.
 */
const DECISION_START = '{"checkpoint":';
const DECISION_NAME = '.evidence.json';
const HEAD = /^(\d{1,16}):([0-9a-f]{64})$/;

/** An error in the command line, so that nothing can be verified. */
export class UsageError extends Error {
  /** Shown below the message. */
  help = '';
}

/**
 * @typedef {object} Order
 * @property {string[]} files
 * @property {boolean} isDatabase
 * @property {boolean} isDecision
 * @property {string[]} exports to hold a decision file against
 * @property {{ name: string, checkpoint: import('./checkpoint.mjs').Checkpoint }[]} checkpoints
 * @property {import('./checkpoint.mjs').VerifierKey[]} keys
 * @property {{ sequence: number, hash: string } | null} head
 * @property {boolean} mayBeUnended
 * @property {boolean} asJson
 */

/**
 * @param {string[]} words
 * @returns {Order | null} null if only the usage was requested
 * @throws {UsageError}
 */
export function readCommandLine(words) {
  const { values, positionals: files } = parse(words);
  if (values.help) return null;
  if (files.length === 0) throw withUsage('There is nothing to verify: name an export or a database.');
  const isDecision = files.some((file) => file.endsWith(DECISION_NAME) || begins(file, DECISION_START));
  if (isDecision) requireDecisionOrder(files, values);
  else if (values.export.length > 0) throw withUsage('--export goes with a decision file.');
  const databases = files.filter((file) => begins(file, SQLITE_HEADER));
  if (databases.length > 0 && files.length > 1) throw new UsageError('A database is verified alone.');
  const { kinds } = values;
  if (kinds !== undefined) readAs(kinds, (text) => addKinds(JSON.parse(text)));
  return {
    files,
    isDatabase: databases.length > 0,
    isDecision,
    exports: values.export,
    checkpoints: values.checkpoint.map((name) => ({ name, checkpoint: readAs(name, checkpointIn) })),
    keys: values['public-key'].map(publicKeyIn),
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
        export: { type: 'string', multiple: true, default: [] },
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

/**
 * @param {string[]} files
 * @param {ReturnType<typeof parse>['values']} values
 * @throws {UsageError}
 */
function requireDecisionOrder(files, values) {
  if (files.length > 1)
    throw new UsageError('A decision file is verified alone. To hold it against an export, use --export.');
  if (values['public-key'].length === 0)
    throw new UsageError(
      'A file cannot vouch for itself: name the public key of the service, which you have from elsewhere, with --public-key.',
    );
  const conflicts =
    values.checkpoint.length > 0 || values['allow-unended'] || values.head !== undefined || values.kinds !== undefined;
  if (conflicts) throw new UsageError('Of the options, --public-key, --export and --json go with a decision file.');
}

/** @param {string} message */
function withUsage(message) {
  return Object.assign(new UsageError(message), { help: `\n${USAGE}` });
}

/**
 * @param {string} path
 * @param {string} text
 */
function begins(path, text) {
  if (path === '-') return false;
  const descriptor = orUsageError(path, () => openSync(path, 'r'));
  try {
    const start = Buffer.alloc(text.length);
    readSync(descriptor, start, 0, start.length, 0);
    return start.toString('latin1') === text;
  } catch {
    // A pipe cannot be read at an offset, so it is an export.
    return false;
  } finally {
    closeSync(descriptor);
  }
}

/** @param {string} argument a key, or the path of a file with one. */
function publicKeyIn(argument) {
  if (existsSync(argument)) return readAs(argument, parseVerifierKey);
  if (!argument.includes('+'))
    throw new UsageError(`${argument}: there is no such file, and a public key has a "+" in it.`);
  return parsedAs(argument, argument, parseVerifierKey);
}

/**
 * Reads a note, or the whole response of `GET /provenance/checkpoint`.
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
 * @param {(text: string) => Result} parse
 */
function readAs(path, parse) {
  return parsedAs(
    path,
    orUsageError(path, () => readFileSync(path, 'utf8')),
    parse,
  );
}

/**
 * @template Result
 * @param {string} name
 * @param {string} text
 * @param {(text: string) => Result} parse
 */
function parsedAs(name, text, parse) {
  return orUsageError(name, () => parse(text));
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
