import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { alterOneByte } from '../altered-byte.js';
import { writeChain, writeNewFile } from '../streamed-answers.js';
import { beforeEarlyEnd } from '../early-end.js';
import { plain, printLine, styled } from '../output.js';
import { SERVICE_OPTION, serviceFolder, type ServiceOption, verifiedExport, type Verdict } from '../service-program.js';
import { type Settings, settings, SettingsError } from '../settings.js';

export function addTamperCommand(program: Command): void {
  program
    .command('tamper')
    .description('alter one byte in a copy of the chain and let the offline verifier find it. Needs the scope audit')
    .option(...SERVICE_OPTION)
    .action(({ service }: ServiceOption) => tamper(settings(), serviceFolder(service)));
}

/**
 * Alters one byte in a copy of the chain, and verifies the copy before and after with the verifier in the folder
 * `programs`. The records of the service are not touched. The exit code is 1 if the verifier does not find the change.
 */
export async function tamper(service: Settings, programs: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gov-tamper-'));
  beforeEarlyEnd(() => rmSync(folder, { recursive: true, force: true }));
  try {
    const copy = join(folder, 'export.ndjson');
    await writeNewFile(copy, (to) => writeChain(service, to));
    printLine('A copy of the whole chain, as the service exports it:');
    const before = await verifiedExport(programs, copy);
    printVerdict(before);
    const alteration = alterOneByte(copy);
    if (alteration === null)
      throw new SettingsError('There are no entries yet that could be altered: `gov seed` creates some.');
    printLine(`\nOne byte of the copy is altered, in line ${alteration.line}:`);
    printLine(styled('red', plain(`  - ${alteration.was}`)));
    printLine(styled('green', plain(`  + ${alteration.is}`)));
    printLine('\nThe same verification again:');
    const after = await verifiedExport(programs, copy);
    printVerdict(after);
    if (!before.valid || after.valid) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function printVerdict({ valid, entries, firstFaults }: Verdict): void {
  for (const { layer, place, fault } of firstFaults) printLine(plain(`  ${layer}: ${place}: ${fault}`));
  printLine(`  ${valid ? styled('green', 'VALID') : styled('red', 'INVALID')}, ${entries} entries`);
}
