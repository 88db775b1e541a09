import { existsSync } from 'node:fs';
import { counted, plain, printLine } from '../../output.js';
import { Pins, type PinnedServer, pinnedServer } from './pins.js';
import { requireReachable, serversOf, type TargetOptions } from './targets.js';

export interface PinOptions extends TargetOptions {
  readonly lock: string;
}

/** Writes the lock file of all tools that the servers have now, and prints its differences from the previous one. */
export async function pinServers(command: readonly string[], { lock, ...options }: PinOptions): Promise<void> {
  const before = existsSync(lock) ? Pins.read(lock).servers : new Map<string, PinnedServer>();
  const servers = await serversOf(command, options, { tools: new Map() });
  try {
    const pinnedServers = servers.map(async (server) => {
      const pins = await pinnedServer(await server.instructions(), await server.list('tools'));
      return [server.name, pins] as const;
    });
    const now = new Map(await requireReachable(Promise.all(pinnedServers)));
    new Pins(now).write(lock);
    for (const line of differences(before, now)) printLine(plain(line));
    const count = [...now.values()].reduce((sum, { tools }) => sum + Object.keys(tools).length, 0);
    printLine(plain(`${counted(count, 'tool')} of ${counted(now.size, 'server')} pinned in ${lock}.`));
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
}

type ByServer = ReadonlyMap<string, PinnedServer>;

function differences(before: ByServer, now: ByServer): string[] {
  return [...new Set([...before.keys(), ...now.keys()])].flatMap((server) => {
    const [old, own] = [before.get(server), now.get(server)];
    const tools = new Set([...Object.keys(old?.tools ?? {}), ...Object.keys(own?.tools ?? {})]);
    const differences = [...tools].flatMap((tool) =>
      difference(`${server}/${tool}`, old?.tools[tool], own?.tools[tool]),
    );
    const instructionsDifference = difference(
      `the instructions of ${server}`,
      old?.instructions ?? undefined,
      own?.instructions ?? undefined,
    );
    return [...instructionsDifference, ...differences];
  });
}

function difference(label: string, old: string | undefined, now: string | undefined): string[] {
  if (old === now) return [];
  if (old === undefined) return [`new: ${label}`];
  return [`${now === undefined ? 'gone' : 'changed'}: ${label}`];
}
