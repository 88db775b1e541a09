import { plain, printError } from '../output.js';
import { isSlip } from '../similar-names.js';
import type { Mapping } from './mapping.js';
import type { Found, Servers } from './servers/servers.js';

/**
 * Says which names of the mapping no tool has: what was meant is governed as if there were no mapping, and a policy on its
 * resource passes it by. It is not a fault of the mapping, as a server may have more tools later.
 */
export class UnknownTools {
  /** Once for each name, however many sessions list the tools. */
  private readonly reported = new Set<string>();

  constructor(private readonly mapping: Mapping) {}

  /** @param tools all that the servers list */
  report(servers: Servers, tools: readonly Found<unknown>[]): void {
    const shown = new Set(tools.map((tool) => tool.shown));
    const answering = new Set(tools.map(({ server }) => server));
    for (const name of this.mapping.tools.keys()) {
      const server = servers.find(name)?.server;
      // One of several that lists nothing may only have failed to answer.
      const isKnown = servers.only !== null || server === undefined || answering.has(server);
      if (shown.has(name) || !isKnown || this.reported.has(name)) continue;
      this.reported.add(name);
      const meant = meantBy(name, [...shown]);
      const question = meant === undefined ? '.' : `: did you mean ${JSON.stringify(meant)}?`;
      printError(plain(`The mapping names the tool ${JSON.stringify(name)}, which no server has${question}`));
    }
  }
}

/** With several servers a name may lack the server. */
function meantBy(name: string, shown: readonly string[]): string | undefined {
  return shown.find((tool) => isSlip(tool, name)) ?? shown.find((tool) => tool.endsWith(`__${name}`));
}
