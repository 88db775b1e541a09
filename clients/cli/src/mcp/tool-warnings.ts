import { plain, printError } from '../output.js';
import { isSlip } from '../similar-names.js';
import { isNameable, type Mapping } from './mapping.js';
import type { ListedItem, Servers } from './servers/servers.js';

/** Names that the model APIs of clients take: others refuse all tools of a client for one such name. */
const MODEL_NAME = /^[\w-]*$/;
const MAX_MODEL_NAME = 64;
/** Lines about the names of tools. */
const MAX_WARNINGS = 100;

/** Warns of names of tools, and of names in the mapping, once for each, however many sessions list the tools. */
export class ToolWarnings {
  private readonly reported = new Set<string>();

  constructor(private readonly mapping: Mapping) {}

  /** @param tools all that the servers list */
  report(servers: Servers, tools: readonly ListedItem<unknown>[]): void {
    this.reportUnknown(servers, tools);
    for (const tool of tools) {
      const fault = modelNameFault(tool.shown);
      if (fault === null || !isNameable(this.mapping, tool)) continue;
      this.warn(
        tool.shown,
        `The tool ${JSON.stringify(tool.shown)} ${fault}: the model APIs of many clients expect at most ${MAX_MODEL_NAME} letters, digits, "_" and "-".`,
      );
    }
  }

  /**
   * What was meant by a name that no tool has is governed as if there were no mapping, and a policy on its resource passes it by. It is
   * not a fault of the mapping, as a server may have more tools later.
   */
  private reportUnknown(servers: Servers, tools: readonly ListedItem<unknown>[]): void {
    const shown = new Set(tools.map((tool) => tool.shown));
    const answering = new Set(tools.map(({ server }) => server));
    for (const name of this.mapping.tools.keys()) {
      const server = servers.find(name)?.server;
      // One of several that lists nothing may only have failed to answer.
      const isKnown = servers.only !== null || server === undefined || answering.has(server);
      if (shown.has(name) || !isKnown) continue;
      const meant = meantBy(name, [...shown]);
      const question = meant === undefined ? '.' : `: did you mean ${JSON.stringify(meant)}?`;
      this.warn(name, `The mapping names the tool ${JSON.stringify(name)}, which no server has${question}`);
    }
  }

  private warn(name: string, text: string): void {
    if (this.reported.has(name) || this.reported.size >= MAX_WARNINGS) return;
    this.reported.add(name);
    printError(plain(text));
  }
}

/** Why model APIs refuse a tool of this name; null if they take it. */
function modelNameFault(name: string): string | null {
  if (name.length > MAX_MODEL_NAME) return `has a name of ${name.length} characters`;
  const [character] = MODEL_NAME.test(name) ? [] : (/[^\w-]/u.exec(name) ?? []);
  return character === undefined ? null : `has ${JSON.stringify(character)} in its name`;
}

/** With several servers a name may lack the server. */
function meantBy(name: string, shown: readonly string[]): string | undefined {
  return shown.find((tool) => isSlip(tool, name)) ?? shown.find((tool) => tool.endsWith(`__${name}`));
}
