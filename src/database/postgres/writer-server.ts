import { DatabaseFault } from '../database-fault';
import type { Primary } from './server-requirements';
import type { ServerReach } from './server-reach';

/**
 * The server that the writer's session is on. A name or a balancer may lead other sessions elsewhere, such as to a primary
 * that was replaced: what they read there is old, or was never written.
 */
export class WriterServer {
  private primary: Primary | null = null;
  private readonly whenMoved: (() => void)[] = [];
  private readonly whenReplaced: (() => void)[] = [];

  constructor(readonly reach: ServerReach) {}

  /** The writer's session is on this primary from now on; until the first, any one will do. */
  moveTo(primary: Primary): void {
    if (this.primary !== null && replaces(this.primary, primary))
      throw elsewhere(primary, `was replaced by the one on timeline ${this.primary.timeline}`);
    const hasMoved = !this.is(primary);
    this.primary = primary;
    if (hasMoved) this.whenMoved.forEach((listener) => listener());
  }

  is({ system, timeline }: Primary): boolean {
    return this.primary === null || (system === this.primary.system && timeline === this.primary.timeline);
  }

  /** Throws for the session that is elsewhere. Where its server has replaced the writer's, the writer learns of it. */
  require(primary: Primary): void {
    if (this.is(primary)) return;
    if (this.primary !== null && replaces(primary, this.primary)) this.whenReplaced.forEach((listener) => listener());
    throw elsewhere(primary, "is not the writer's");
  }

  /** For sessions that cannot be asked before each use. */
  onMoved(listener: () => void): void {
    this.whenMoved.push(listener);
  }

  /** Another primary has taken over from the writer's. */
  onReplaced(listener: () => void): void {
    this.whenReplaced.push(listener);
  }
}

function replaces(primary: Primary, previous: Primary): boolean {
  return primary.system === previous.system && primary.timeline > previous.timeline;
}

function elsewhere({ system, timeline }: Primary, why: string): DatabaseFault {
  const message = `The PostgreSQL server (system ${system}, timeline ${timeline}) ${why}.`;
  return new DatabaseFault('unavailable', 'ELSEWHERE', message);
}
