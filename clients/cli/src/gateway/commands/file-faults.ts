import type { PlacedFault } from '../file/document.js';
import { type GatewayFile, GatewayFileError, readGatewayFile } from '../file/gateway-file.js';
import { plain, printError } from '../../output.js';
import { serviceUrl, SettingsError } from '../../settings.js';

/** The exit code of sysexits.h for a faulty configuration. */
const CONFIGURATION = 78;

/** Reads a file. @returns null if it has faults, which are printed, and which set the exit code */
export function readSoundFile(path: string): GatewayFile | null {
  try {
    return readGatewayFile(path, serviceUrl());
  } catch (error) {
    if (error instanceof GatewayFileError) {
      printFaults(path, error.faults);
      return null;
    }
    if (error instanceof Error && 'syscall' in error)
      throw new SettingsError(`The file ${path} cannot be read: ${error.message}`);
    throw error;
  }
}

/** Prints faults, and sets the exit code. */
export function printFaults(path: string, faults: readonly PlacedFault[]): void {
  for (const fault of faults) printError(faultText(path, fault));
  process.exitCode = CONFIGURATION;
}

export function faultText(path: string, { line, column, message }: PlacedFault): string {
  return plain(`${path}:${line}:${column}: ${message}`);
}
