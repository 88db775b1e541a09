import { existsSync } from 'node:fs';
import type { FileDocument, FilePath, PlacedFault } from './document.js';
import { FaultList } from './fault-list.js';
import { placed } from './gateway-file.js';
import type { Credential, GatewayConfig } from './gateway-config.js';
import { secretTextsOf } from './credential-rules.js';
import { hidingRoutes } from './hidden-routes.js';
import { type Mapping, readMapping, withSecrets } from '../../mcp/mapping.js';
import { Pins } from '../../mcp/servers/pins.js';
import { SettingsError } from '../../settings.js';
import { readSecret, SecretFault, type SecretSource } from '../secrets/secret-value.js';

/** Findings about a file that has no faults of its own. */
export interface SurroundingsCheck {
  /** Secrets that no gateway can use. */
  readonly faults: readonly PlacedFault[];
  /** Files and variables that this machine lacks, and routes that do not do what they seem to. */
  readonly warnings: readonly PlacedFault[];
}

/** Compares a file with the environment and the files that it names. Contacts nobody. */
export async function checkSurroundings(
  config: GatewayConfig,
  document: FileDocument,
  environment: NodeJS.ProcessEnv,
): Promise<SurroundingsCheck> {
  const faults = new FaultList();
  const warnings = new FaultList();
  if (config.tls !== undefined) {
    warnIfMissing(config.tls.cert, ['tls', 'cert'], warnings);
    warnIfMissing(config.tls.key, ['tls', 'key'], warnings);
  }
  for (const upstream of config.upstreams) {
    const path = ['upstreams', upstream.name];
    if (upstream.ca !== undefined) warnIfMissing(upstream.ca, [...path, 'ca'], warnings);
    if (upstream.kind === 'http') warnOfRoutes(upstream.routes, [...path, 'routes'], warnings);
    else {
      const { map, lock, secret } = upstream;
      const read = (file: string): Mapping => withSecrets(readMapping(file), secret);
      if (map !== undefined) checkMcpFile(map, [...path, 'map'], { read, faults, warnings });
      if (lock !== undefined)
        checkMcpFile(lock, [...path, 'lock'], { read: (lockFile) => Pins.read(lockFile), faults, warnings });
    }
    await checkSecrets(upstream.credentials, [...path, 'credentials'], { environment, faults, warnings });
  }
  return { faults: placed(document, faults), warnings: placed(document, warnings) };
}

function warnIfMissing(file: string, path: FilePath, warnings: FaultList): void {
  if (!existsSync(file)) warnings.add(path, `names the file ${file}, which does not exist`);
}

interface McpFileCheck {
  /** @throws SettingsError if the file cannot be used */
  readonly read: (file: string) => unknown;
  readonly faults: FaultList;
  readonly warnings: FaultList;
}

function checkMcpFile(file: string, path: FilePath, { read, faults, warnings }: McpFileCheck): void {
  if (!existsSync(file)) {
    warnIfMissing(file, path, warnings);
    return;
  }
  try {
    read(file);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    faults.add(path, `cannot be used: ${error.message}`);
  }
}

function warnOfRoutes(routes: Parameters<typeof hidingRoutes>[0], path: FilePath, warnings: FaultList): void {
  for (const [index, { match }] of routes.entries()) {
    const hiding = hidingRoutes(routes, index).map((route) => route.match);
    const matchPath = [...path, index, 'match'];
    if (hiding.length > 0) warnings.add(matchPath, `is never reached: ${hiding.join(' and ')} before it decides`);
    const rest = /\*\w+$/.exec(match)?.[0];
    if (rest !== undefined)
      warnings.add(matchPath, `has ${rest}, so it also allows every path that the upstream adds later`);
  }
}

interface SecretCheck {
  readonly environment: NodeJS.ProcessEnv;
  readonly faults: FaultList;
  readonly warnings: FaultList;
}

async function checkSecrets(
  credentials: readonly Credential[],
  path: FilePath,
  { environment, faults, warnings }: SecretCheck,
): Promise<void> {
  for (const [index, credential] of credentials.entries()) {
    for (const { at, text } of secretTextsOf(credential)) {
      const message = await secretFault(text.source, environment);
      if (message === undefined) continue;
      const list = isMissing(text.source, environment) ? warnings : faults;
      list.add([...path, index, ...at], `cannot be used: ${message.charAt(0).toLowerCase()}${message.slice(1, -1)}`);
    }
  }
}

function isMissing(source: SecretSource, environment: NodeJS.ProcessEnv): boolean {
  return 'env' in source ? environment[source.env] === undefined : !existsSync(source.file);
}

async function secretFault(source: SecretSource, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    await readSecret(source, environment);
    return undefined;
  } catch (error) {
    if (error instanceof SecretFault) return error.message;
    throw error;
  }
}
