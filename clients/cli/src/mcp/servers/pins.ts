import { writeFileSync } from 'node:fs';
import type { Tool } from '@modelcontextprotocol/client';
import { canonicalJson, digestOf } from '../../../../typescript/src/canonical-json.js';
import { readRegularJsonFile } from '../../json-file.js';
import { SettingsError } from '../../settings.js';

/** The pins of a server: SHA-256 in hex. */
export interface PinnedServer {
  /** The hash of its instructions; null if it gives none. */
  readonly instructions: string | null;
  /** Hashes by tool name: of the tool's RFC 8785 form without `_meta`. */
  readonly tools: Readonly<Record<string, string>>;
}

const HASH = /^[0-9a-f]{64}$/;

/** Definitions that a person has checked: tools that a server has changed since are not offered. */
export class Pins {
  constructor(readonly servers: ReadonlyMap<string, PinnedServer>) {}

  /** @throws SettingsError if the lock file is missing or invalid. */
  static read(path: string): Pins {
    try {
      const { servers } = Object(readRegularJsonFile(path)) as { servers?: Record<string, PinnedServer> };
      if (!isObject(servers) || !Object.values(servers).every(isPinned))
        throw new TypeError('it is not what gov mcp pin writes');
      return new Pins(new Map(Object.entries(servers)));
    } catch (error) {
      const message = error instanceof Error ? error.message : '';
      throw new SettingsError(`The lock ${path} cannot be used: ${message}. Write it by gov mcp pin --lock ${path}.`);
    }
  }

  write(path: string): void {
    const servers = Object.fromEntries(
      [...this.servers].sort(byName).map(([name, server]) => [name, withSortedTools(server)]),
    );
    writeFileSync(path, `${JSON.stringify({ servers }, null, 2)}\n`);
  }

  /** Returns the reason why a tool is held back; null if it matches its pin. */
  async fault(server: string, tool: Tool): Promise<string | null> {
    const pinnedTools = this.servers.get(server)?.tools;
    if (pinnedTools === undefined || !Object.hasOwn(pinnedTools, tool.name))
      return `${tool.name} of ${server} is not pinned`;
    if (pinnedTools[tool.name] === (await hashOf(tool))) return null;
    return `${tool.name} of ${server} has another definition than the one that was pinned`;
  }

  async knowsInstructions(server: string, text: string | undefined): Promise<boolean> {
    return this.servers.get(server)?.instructions === (await instructionsHash(text));
  }
}

export async function pinnedServer(instructions: string | undefined, tools: readonly Tool[]): Promise<PinnedServer> {
  const hashes = await Promise.all(tools.map(async (tool) => [tool.name, await hashOf(tool)] as const));
  return { instructions: await instructionsHash(instructions), tools: Object.fromEntries(hashes) };
}

async function hashOf(tool: Tool): Promise<string> {
  // Undefined members are left out.
  return (await digestOf(canonicalJson({ ...tool, _meta: undefined }))).sha256;
}

async function instructionsHash(text: string | undefined): Promise<string | null> {
  return text === undefined ? null : (await digestOf(text)).sha256;
}

function isPinned(server: unknown): boolean {
  const { instructions, tools } = (server ?? {}) as Partial<Record<string, unknown>>;
  const isHash = (value: unknown): boolean => typeof value === 'string' && HASH.test(value);
  if (!isObject(tools)) return false;
  return (instructions === null || isHash(instructions)) && Object.values(tools).every(isHash);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function withSortedTools({ instructions, tools }: PinnedServer): PinnedServer {
  return { instructions, tools: Object.fromEntries(Object.entries(tools).sort(byName)) };
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1;
}
