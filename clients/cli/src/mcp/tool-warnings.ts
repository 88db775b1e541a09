import { plain, printError } from '../output.js';
import { isSlip } from '../similar-names.js';
import { isNameable, type Mapping } from './mapping.js';
import type { ListedItem, Servers } from './servers/servers.js';

/** Names that the model APIs of clients accept: they refuse all tools of a client for one invalid name. */
const MODEL_NAME = /^[\w-]*$/;
const MAX_MODEL_NAME = 64;
/** Maximum number of warnings about names of tools. */
const MAX_WARNINGS = 100;

/** Warns once of each name of a tool, or in the mapping, also if several sessions list the tools. */
export class ToolWarnings {
  private readonly reportedWarnings = new Set<string>();

  constructor(private readonly mapping: Mapping) {}

  /** @param tools all that the servers list */
  report(servers: Servers, tools: readonly ListedItem<unknown>[]): void {
    this.reportUnknown(servers, tools);
    for (const tool of tools) {
      const fault = modelNameFault(tool.visibleName);
      if (fault === null || !isNameable(this.mapping, tool)) continue;
      this.warn(
        tool.visibleName,
        `The tool ${JSON.stringify(tool.visibleName)} ${fault}: the model APIs of many clients expect at most ${MAX_MODEL_NAME} letters, digits, "_" and "-".`,
      );
    }
  }

  /**
   * Warns of names in the mapping that no tool has: the intended tool is governed without the mapping, so that a policy
   * on its resource does not match. It is not an error, as a server may have more tools later.
   */
  private reportUnknown(servers: Servers, tools: readonly ListedItem<unknown>[]): void {
    const toolNames = new Set(tools.map((tool) => tool.visibleName));
    const answeringServers = new Set(tools.map(({ server }) => server));
    for (const name of this.mapping.tools.keys()) {
      const server = servers.find(name)?.server;
      // A server without tools may only have failed to answer.
      const isKnown = servers.only !== null || server === undefined || answeringServers.has(server);
      if (toolNames.has(name) || !isKnown) continue;
      const suggestion = similarName(name, [...toolNames]);
      const question = suggestion === undefined ? '.' : `: did you mean ${JSON.stringify(suggestion)}?`;
      this.warn(name, `The mapping names the tool ${JSON.stringify(name)}, which no server has${question}`);
    }
  }

  private warn(name: string, text: string): void {
    if (this.reportedWarnings.has(name) || this.reportedWarnings.size >= MAX_WARNINGS) return;
    this.reportedWarnings.add(name);
    printError(plain(text));
  }
}

/** Returns the reason why model APIs refuse a tool of this name; null if they accept it. */
function modelNameFault(name: string): string | null {
  if (name.length > MAX_MODEL_NAME) return `has a name of ${name.length} characters`;
  const [character] = MODEL_NAME.test(name) ? [] : (/[^\w-]/u.exec(name) ?? []);
  return character === undefined ? null : `has ${JSON.stringify(character)} in its name`;
}

/** Finds a similar name; with several servers, a name may lack its server. */
function similarName(name: string, names: readonly string[]): string | undefined {
  return names.find((tool) => isSlip(tool, name)) ?? names.find((tool) => tool.endsWith(`__${name}`));
}
