import { Injectable, type OnModuleInit } from '@nestjs/common';
import { LedgerService } from '../../ledger/ledger.service';
import { RowProjection } from '../../ledger/head/projections';
import { RecordHistory } from '../../ledger/record-history';
import { STOP, type Stop, STOP_ACTIONS } from './stop.entity';

/**
 * Active stops in memory. They change as the policies in force do: after the commit and before any later command runs,
 * in every process, so nothing is authorised after the entry of a stop that covers it.
 */
@Injectable()
export class ActiveStops implements OnModuleInit {
  private stops: readonly Stop[] = [];
  private readonly listeners: ((added: readonly Stop[]) => void)[] = [];
  /** Follows changes by other processes; must catch up before a question is answered. */
  readonly memory = new RowProjection<Stop>({
    kind: STOP,
    status: 'active',
    actions: STOP_ACTIONS,
    keep: (stops) => this.keep(stops),
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly past: RecordHistory,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.ledger.follow(this.memory);
  }

  /**
   * Active stops, the oldest first; each change makes a new list. Read it inside a command, so that no stop comes
   * between the decision and its commit.
   */
  get active(): readonly Stop[] {
    return this.stops;
  }

  /** Resolves when every change on disk before the call has taken effect, whichever process made it. */
  catchUp(): Promise<void> {
    return this.ledger.catchUp(this.memory);
  }

  /** Returns the stops that were active after the entry with the sequence, the oldest first. */
  async activeAfter(sequence: number): Promise<Stop[]> {
    const active: Stop[] = [];
    for await (const stops of this.past.chunks(STOP, sequence))
      active.push(...stops.filter(({ status }) => status === 'active'));
    return active;
  }

  /** Calls back with stops that have become active, whichever process made them. */
  onAdded(listener: (added: readonly Stop[]) => void): void {
    this.listeners.push(listener);
  }

  private keep(stops: readonly Stop[]): void {
    const active = new Map(this.stops.map((stop) => [stop.id, stop]));
    for (const stop of stops)
      if (stop.status === 'active') active.set(stop.id, stop);
      else active.delete(stop.id);
    this.stops = [...active.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
    const added = stops.filter(({ status }) => status === 'active');
    if (added.length > 0) for (const listener of this.listeners) listener(added);
  }
}
