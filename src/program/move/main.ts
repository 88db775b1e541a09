import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { configuredSettings } from '../../core/config/configuration.module';
import { ConfigurationError } from '../../core/config/read-configuration';
import { explainDatabaseUrl, parseDatabaseUrl } from '../../core/config/variables/database-url';
import { errorMessage } from '../../core/errors/domain-error';
import { printableText } from '../../core/values/printable-text';
import { DatabaseInUseError } from '../../ledger/database/database-fault';
import { persistentFile } from '../../ledger/database/kept-file';
import { postgresLocation } from '../../ledger/database/postgres/postgres-database';
import { UnreleasedSchemaError } from '../../ledger/schema/schema-version';
import { moveDatabase, type MoveResult } from './move-database';
import { type MovedFile, planFiles, takenPlaces } from './moved-files';
import { Progress } from './progress';
import { type Head, SourceDatabase } from './source-database';
import { TargetDatabase, TargetNotEmptyError } from './target-database';

/** Exit codes. */
const [MOVED, FAILED, MISUSED, UNKNOWN_SCHEMA, IN_USE] = [0, 1, 2, 65, 75];

const USAGE = `Usage: agent-governance move --to postgres://<user>:<password>@<host>/<database> [--again]

Copies the SQLite database of DATABASE_URL to an empty PostgreSQL database, and verifies the copy. Stop the service first.
The source is not changed. With --again, what an earlier move has left in the target is dropped first.

Exit codes: 0 the target is complete, 1 it failed, 2 the arguments are wrong or the target is not empty, 65 the source has a
schema that was never released, 75 the source is in use.`;

class MisuseError extends Error {}

async function main(words: readonly string[]): Promise<void> {
  const { url, again } = requestIn(words);
  const settings = await configuredSettings([
    'database',
    'checkpointFolder',
    'signingKey',
    'secretKey',
    'checkpointOrigin',
    'previousVerifierKeys',
  ]);
  const { database } = settings;
  if (database.kind === 'postgres')
    throw new MisuseError('DATABASE_URL is a PostgreSQL database: it must be the SQLite database to move.');
  const source = await SourceDatabase.open(database.path);
  try {
    const location = postgresLocation(url);
    const files = planFiles(
      settings,
      { database, location: source.path },
      { database: { kind: 'postgres', url }, location },
    );
    const taken = takenPlaces(files);
    if (taken.length > 0) throw new MisuseError(`There is another file ${taken.join(', ')}. Move it away first.`);
    const target = await TargetDatabase.open(url, location);
    try {
      const result = await moveDatabase({ source, target, url, location, again, files, progress: new Progress() });
      const secretKeyFile = persistentFile({ ...settings, database }, source.path, 'secret-key');
      report(result, files, nextSecretKey(settings.secretKey !== null, secretKeyFile));
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

interface MoveRequest {
  readonly url: string;
  readonly again: boolean;
}

/** @throws MisuseError */
function requestIn(words: readonly string[]): MoveRequest {
  const { to = '', again = false } = optionsIn(words);
  const target = parseDatabaseUrl(to);
  if (target?.kind === 'postgres') return { url: target.url, again };
  const reason = explainDatabaseUrl(to);
  throw new MisuseError(
    to === '' ? USAGE : `--to must be the URL of a PostgreSQL database${reason === undefined ? '' : `: ${reason}`}.`,
  );
}

function optionsIn(words: readonly string[]): { to?: string; again?: boolean } {
  try {
    return parseArgs({ args: [...words], options: { to: { type: 'string' }, again: { type: 'boolean' } } }).values;
  } catch {
    throw new MisuseError(USAGE);
  }
}

/** Returns the key that the target's service needs, as the end of a sentence: on PostgreSQL no key is generated. */
function nextSecretKey(isSet: boolean, file: string): string {
  if (isSet) return 'the SECRET_KEY that is set now';
  return existsSync(file)
    ? `SECRET_KEY set to the content of ${file}`
    : 'SECRET_KEY set to a new key (openssl rand -base64 32)';
}

function report({ heads: [source, target], faults }: MoveResult, files: readonly MovedFile[], secretKey: string): void {
  process.stdout.write(`source  ${headText(source)}\ntarget  ${headText(target)}\n`);
  if (faults.length > 0) {
    process.stderr.write(faults.map((fault) => `FAULT ${printableText(fault)}\n`).join(''));
    process.stderr.write(
      'INVALID: the service does not start on the target. Verify the source: agent-governance verify <file>\n',
    );
    process.exitCode = FAILED;
    return;
  }
  const copied = files.map(({ from, to }) => `copied  ${from} to ${to}\n`).join('');
  const signingKey = files.find(({ to }) => to.endsWith('.signing-key'))?.to;
  const signing = signingKey === undefined ? '' : `In production, set SIGNING_KEY to the content of ${signingKey}.\n`;
  process.stdout.write(
    `${copied}VALID\nStart the service with DATABASE_URL set to the target, and with ${secretKey}.\n${signing}`,
  );
  process.exitCode = MOVED;
}

function headText(head: Head | null): string {
  return head === null ? 'none' : `${head.sequence} ${head.hash}`;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof MisuseError || error instanceof ConfigurationError || error instanceof TargetNotEmptyError)
    return MISUSED;
  if (error instanceof DatabaseInUseError) return IN_USE;
  return error instanceof UnreleasedSchemaError ? UNKNOWN_SCHEMA : FAILED;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const exitCode = exitCodeOf(error);
  const message = printableText(errorMessage(error));
  process.stderr.write(exitCode === MISUSED ? `${errorMessage(error)}\n` : `The database was not moved: ${message}\n`);
  process.exitCode = exitCode;
});
