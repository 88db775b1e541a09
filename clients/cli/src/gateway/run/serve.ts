import { profileName, serviceUrl, settings, SettingsError, shownMessage } from '../../settings.js';
import type { DigestOptions } from '../../large-values.js';
import { outliveOutput, printError } from '../../output.js';
import { FolderHeldError } from '../calls/journal-folder.js';
import type { GatewayConfig } from '../file/gateway-config.js';
import { GatewayFileError, readGatewayFile } from '../file/gateway-file.js';
import { SecretFaults } from '../secrets/secret-store.js';
import { GatewayLog } from './log.js';
import { type RunningGateway, startGateway } from './start.js';

/** Exit codes of sysexits.h. */
const HELD = 75;
const CONFIGURATION = 78;

const END_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

/**
 * Serves by a file until SIGTERM or SIGINT. Further ones change nothing: `timeout` sends each twice, and so does a
 * Ctrl-C under `npm`. SIGHUP reads the file and all secrets again.
 */
export async function serveGateway(path: string, { digestAbove }: DigestOptions): Promise<void> {
  const key = profileName() === undefined ? (process.env['GOVERNANCE_API_KEY'] ?? '') : settings().key;
  if (key === '') throw new SettingsError('GOVERNANCE_API_KEY is required: a key with the scope report.');
  outliveOutput();
  const readConfig = (): GatewayConfig => readGatewayFile(path, serviceUrl()).config;
  // The signals are awaited before the gateway listens, because whoever sees that it listens may end it at once.
  const ending = new Promise<void>((resolve) => {
    for (const signal of END_SIGNALS) process.on(signal, () => resolve());
  });
  const starting = startGateway(readConfig, { key, digestAbove });
  // One that comes during the start reads the file again after it; nobody reads again what could not start.
  process.on('SIGHUP', () => void starting.then(readAgain, () => undefined));
  let gateway: RunningGateway;
  try {
    gateway = await starting;
  } catch (error) {
    const exitCode = exitCodeOf(error);
    if (exitCode === null) throw error;
    printError(error instanceof Error ? error.message : String(error));
    process.exitCode = exitCode;
    return;
  }
  await ending;
  await gateway.close();
}

async function readAgain(gateway: RunningGateway): Promise<void> {
  const log = new GatewayLog();
  try {
    await gateway.reload();
    log.info('The file and all secrets were read again');
  } catch (error) {
    log.warn(`The file cannot be used, so the old one stays in use: ${lineOf(error)}`);
  }
}

/** Returns the exit code of an error; null if it is not about the file, its secrets or its journal. */
function exitCodeOf(error: unknown): number | null {
  if (error instanceof FolderHeldError) return HELD;
  return error instanceof GatewayFileError || error instanceof SecretFaults ? CONFIGURATION : null;
}

function lineOf(error: unknown): string {
  return error instanceof GatewayFileError || error instanceof SecretFaults
    ? error.message.replaceAll('\n', '; ')
    : shownMessage(error);
}
