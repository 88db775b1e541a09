import { plain, printError } from '../../output.js';
import { SettingsError } from '../../settings.js';
import { readConfig } from './config-file.js';
import { GovernedServer, type Target } from './governed-server.js';
import { isPlainName, type Mapping, plainName } from '../mapping.js';
import { headersOf } from './server-address.js';

/** The servers that are governed. */
export interface TargetOptions {
  readonly config?: string;
  readonly url?: URL;
  readonly header?: readonly string[];
  readonly name?: string;
  /** Seconds that a call may take. */
  readonly callTimeout?: number;
}

/** @throws SettingsError where it is not clear which servers are meant, or one that has to give its name cannot. */
export async function serversOf(
  command: readonly string[],
  options: TargetOptions,
  mapping: Mapping,
): Promise<GovernedServer[]> {
  const { config, url, name = mapping.server, callTimeout } = options;
  const maxCallMs = callTimeout === undefined ? undefined : callTimeout * 1_000;
  if (config !== undefined) {
    if (command.length > 0 || url !== undefined || options.header !== undefined || name !== undefined)
      throw new SettingsError(
        'With --config, the file names the servers: leave out the command, --url, --header and --name.',
      );
    return readConfig(config).map((entry) => new GovernedServer(entry.name, entry.target, maxCallMs));
  }
  const server = new GovernedServer(name === undefined ? '' : plainName(name), targetOf(command, options), maxCallMs);
  if (name === undefined) await takeOwnName(server);
  return [server];
}

async function takeOwnName(server: GovernedServer): Promise<void> {
  const name = await requireReachable(server.ownName());
  if (!isPlainName(name))
    throw new SettingsError(`The server calls itself ${JSON.stringify(name)}. Give it a plain name by --name.`);
  printError(
    plain(
      `The server calls itself ${name}, and requests to the policies use that name. Choose the name yourself with --name.`,
    ),
  );
  server.name = name;
}

function targetOf(command: readonly string[], { url, header = [] }: TargetOptions): Target {
  if (command.length > 0 && url === undefined) return { command };
  if (command.length === 0 && url !== undefined) return { url, headers: headersOf(header) };
  throw new SettingsError(
    'Say which server to stand in front of: gov mcp -- <command…>, gov mcp --url <server>, or several: gov mcp --config <file>.',
  );
}

/** @throws SettingsError if the server cannot be started or does not speak the protocol. */
export async function requireReachable<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    throw new SettingsError(
      `The MCP server cannot be reached: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
