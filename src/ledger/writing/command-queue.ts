import type { QueuedCommand } from './commands';

/**
 * The commands that wait for a batch. Callers take turns, and the commands of each are taken in order of arrival, so that
 * many commands of one caller do not hold up those of others.
 */
export class CommandQueue {
  private commands: QueuedCommand[] = [];

  get length(): number {
    return this.commands.length;
  }

  push(command: QueuedCommand): void {
    this.commands.push(command);
  }

  /** Takes at most this many commands. */
  take(most: number): QueuedCommand[] {
    const ordered = inTurns(this.commands);
    this.commands = ordered.slice(most);
    return ordered.slice(0, most);
  }

  /** Puts commands back that were taken, before those that have arrived since. */
  putBack(commands: readonly QueuedCommand[]): void {
    if (commands.length > 0) this.commands = [...commands, ...this.commands];
  }

  /** Removes and returns the commands whose deadline has passed. */
  takeExpired(): QueuedCommand[] {
    const now = performance.now();
    const expired = this.commands.filter(({ deadline }) => deadline < now);
    if (expired.length > 0) this.commands = this.commands.filter(({ deadline }) => deadline >= now);
    return expired;
  }
}

/** Returns the first command of each caller, then the second of each, and so on. */
function inTurns(commands: readonly QueuedCommand[]): readonly QueuedCommand[] {
  const taken = new Map<string, number>();
  const turns: QueuedCommand[][] = [];
  for (const command of commands) {
    const { type, id } = command.caller.actor;
    const caller = `${type} ${id}`;
    const turn = taken.get(caller) ?? 0;
    taken.set(caller, turn + 1);
    const others = turns[turn];
    if (others === undefined) turns.push([command]);
    else others.push(command);
  }
  return taken.size === 1 ? commands : turns.flat();
}
