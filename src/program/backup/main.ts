import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigurationError } from '../../core/config/read-configuration';
import { configuredDatabase } from '../../core/config/configuration.module';
import { errorMessage } from '../../core/errors/domain-error';
import { printableText } from '../../core/values/printable-text';
import { writeBackup, UsageError, type Verification } from './backup';

/** Exit codes. */
const [WRITTEN, FAILED, MISUSED] = [0, 1, 2];

const USAGE = `Usage: npm run backup -- <file>

Writes the SQLite database of DATABASE_URL to a new file and verifies what was written. The service may run meanwhile.

Exit codes: 0 a valid backup was written, 1 it failed or the database is not valid, 2 the arguments are wrong.`;

const ON_POSTGRES =
  'DATABASE_URL is a PostgreSQL server: back it up with pg_dump --format=custom, as docs/operations.md#postgresql describes.';

async function main(words: readonly string[]): Promise<void> {
  const target = targetIn(words);
  const database = await configuredDatabase();
  if (database.kind === 'postgres') throw new UsageError(ON_POSTGRES);
  const verification = await writeBackup(resolve(database.path), target, warn);
  if (verification.valid) process.stdout.write(written(verification, target));
  else process.stderr.write(refused(verification, target));
  process.exitCode = verification.valid ? WRITTEN : FAILED;
}

function targetIn(words: readonly string[]): string {
  const [file] = words;
  if (file === undefined || file.startsWith('-') || words.length > 1) throw new UsageError(USAGE);
  const target = resolve(file);
  if (!existsSync(dirname(target))) throw new UsageError(`There is no folder ${dirname(target)}.`);
  return target;
}

function written({ entries, head }: Verification, target: string): string {
  return `entries  ${entries}\nhead     ${head.sequence} ${head.hash}\nbackup   ${target}\nVALID\n`;
}

function refused({ faults, firstFaults, head }: Verification, target: string): string {
  const lines = firstFaults.map(
    ({ layer, place, fault }) => `${printableText(`FAULT ${layer}: ${place}: ${fault}`)}\n`,
  );
  const more = faults > firstFaults.length ? `… and ${faults - firstFaults.length} more\n` : '';
  return (
    `head     ${head.sequence} ${head.hash}\n${lines.join('')}${more}` +
    `INVALID: ${faults} ${faults === 1 ? 'fault' : 'faults'} in the database, so no backup was kept as ${target}.\n`
  );
}

function warn(line: string): void {
  process.stderr.write(`${line}\n`);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const isMisuse = error instanceof UsageError || error instanceof ConfigurationError;
  const message = errorMessage(error);
  process.stderr.write(isMisuse ? `${message}\n` : `No backup was written: ${message}\n`);
  process.exitCode = isMisuse ? MISUSED : FAILED;
});
