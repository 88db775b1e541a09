import { existsSync } from 'node:fs';
import { counted, plain, printLine } from '../../output.js';
import { Pins, type PinnedServer, pinned } from './pins.js';
import { reached, serversOf, type TargetOptions } from './targets.js';

export interface PinOptions extends TargetOptions {
  readonly lock: string;
}

/** Writes the lock of all tools that the servers have now, and says what differs from the one that was there. */
export async function pinServers(command: readonly string[], { lock, ...options }: PinOptions): Promise<void> {
  const before = existsSync(lock) ? Pins.read(lock).servers : new Map<string, PinnedServer>();
  const servers = await serversOf(command, options, { tools: new Map() });
  try {
    const found = servers.map(async (server) => {
      const pins = await pinned(await server.instructions(), await server.list('tools'));
      return [server.name, pins] as const;
    });
    const now = new Map(await reached(Promise.all(found)));
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
    const changed = [...tools].flatMap((tool) => difference(`${server}/${tool}`, old?.tools[tool], own?.tools[tool]));
    const of = difference(
      `the instructions of ${server}`,
      old?.instructions ?? undefined,
      own?.instructions ?? undefined,
    );
    return [...of, ...changed];
  });
}

function difference(what: string, old: string | undefined, now: string | undefined): string[] {
  if (old === now) return [];
  if (old === undefined) return [`new: ${what}`];
  return [`${now === undefined ? 'gone' : 'changed'}: ${what}`];
}
