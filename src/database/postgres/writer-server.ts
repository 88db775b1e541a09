import { DatabaseFault } from '../database-fault';
import type { Primary } from './server-requirements';
import type { ServerReach } from './server-reach';

/**
 * The server of the writer's session. A host name or a load balancer may lead other sessions elsewhere, such as to a
 * primary that was replaced: what they read there is outdated, or was never committed.
 */
export class WriterServer {
  private primary: Primary | null = null;
  /** Servers of sessions that were opened before the writer's first. */
  private readonly early: Primary[] = [];
  private readonly whenMoved: (() => void)[] = [];
  private readonly whenReplaced: (() => void)[] = [];

  constructor(readonly reach: ServerReach) {}

  /** From now on the writer's session is on this primary. It must not have been replaced by one that a session was on. */
  moveTo(primary: Primary): void {
    const previous = this.primary === null ? this.early : [this.primary];
    const newer = previous.find((other) => replaces(other, primary));
    if (newer !== undefined) throw elsewhere(primary, `was replaced by the one on timeline ${newer.timeline}`);
    this.primary = primary;
    const hasMoved = !previous.every((other) => this.is(other));
    this.early.length = 0;
    if (hasMoved) this.whenMoved.forEach((listener) => listener());
  }

  is(primary: Primary): boolean {
    return this.primary === null || isSame(this.primary, primary);
  }

  /** Throws for a session that is elsewhere. If its server has replaced the writer's, the writer is notified. */
  require(primary: Primary): void {
    if (this.primary === null && !this.early.some((other) => isSame(other, primary))) this.early.push(primary);
    if (this.is(primary)) return;
    if (this.primary !== null && replaces(primary, this.primary)) this.whenReplaced.forEach((listener) => listener());
    throw elsewhere(primary, "is not the writer's");
  }

  /** For sessions that cannot be checked before each use. */
  onMoved(listener: () => void): void {
    this.whenMoved.push(listener);
  }

  /** Called when another primary has taken over from the writer's. */
  onReplaced(listener: () => void): void {
    this.whenReplaced.push(listener);
  }
}

function isSame(one: Primary, other: Primary): boolean {
  return one.system === other.system && one.timeline === other.timeline;
}

function replaces(primary: Primary, previous: Primary): boolean {
  return primary.system === previous.system && primary.timeline > previous.timeline;
}

function elsewhere({ system, timeline }: Primary, why: string): DatabaseFault {
  const message = `The PostgreSQL server (system ${system}, timeline ${timeline}) ${why}.`;
  return new DatabaseFault('unavailable', 'ELSEWHERE', message);
}
