import type { Route } from '../file/gateway-config.js';
import { checkSurroundings } from '../file/surroundings-check.js';
import { type Column, counted, printError, printLine, printTable } from '../../output.js';
import { faultText, printFaults, readSoundFile } from './file-faults.js';

interface RouteRow {
  readonly upstream: string;
  readonly route: Route;
}

const COLUMNS: readonly Column<RouteRow>[] = [
  { title: 'METHOD', value: ({ route }) => route.methods.join(',') },
  { title: 'PATH', value: ({ upstream, route }) => `/${upstream}${route.path}` },
  { title: 'ACTION', value: ({ route }) => (route.isRecorded ? route.action : `${route.action} (not recorded)`) },
  { title: 'RESOURCE', value: ({ route: { resource } }) => `${resource.type} ${resource.id}` },
];

/** Prints the faults of a file; without any, its routes and warnings. */
export async function checkFile(path: string): Promise<void> {
  const file = readSoundFile(path);
  if (file === null) return;
  const { config, document } = file;
  const { faults, warnings } = await checkSurroundings(config, document, process.env);
  for (const warning of warnings) printError(`${faultText(path, warning)} (warning)`);
  if (faults.length > 0) {
    printFaults(path, faults);
    return;
  }
  const rows = config.upstreams.flatMap((upstream) =>
    upstream.kind === 'http' ? upstream.routes.map((route) => ({ upstream: upstream.name, route })) : [],
  );
  if (rows.length > 0) printTable(rows, COLUMNS);
  for (const { kind, name } of config.upstreams) {
    if (kind === 'mcp') printLine(`MCP at /${name}/mcp: its tools are known only while the gateway runs.`);
  }
  printLine(`No faults, ${counted(warnings.length, 'warning')}.`);
}
