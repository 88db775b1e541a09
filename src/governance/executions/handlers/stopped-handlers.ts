import { Injectable, type OnModuleInit } from '@nestjs/common';
import { SYSTEM_CALLER } from '../../../ledger/caller';
import { RecordReader } from '../../../ledger/reading/record-reader';
import { AGENT } from '../../agents/agent.entity';
import { ActiveStops } from '../../stops/active-stops';
import type { Stop } from '../../stops/stop.entity';
import { coversAction, stopCovering } from '../../stops/stop-coverage';
import { ActionFailure } from './action-handlers';
import { ActionRunner, type RunningAction } from './action-runner';

/** Ends running handlers that a stop covers, in whichever process it was made. */
@Injectable()
export class StoppedHandlers implements OnModuleInit {
  constructor(
    private readonly stops: ActiveStops,
    private readonly runner: ActionRunner,
    private readonly records: RecordReader,
  ) {}

  onModuleInit(): void {
    this.stops.onAdded((added) => {
      for (const running of this.runner.running) void this.endCovered(running, added);
    });
  }

  /** The failure of an action that was authorised, and stopped before its handler began; null if it may begin. */
  async failureOf(action: RunningAction['asked']): Promise<ActionFailure | null> {
    return this.failureBy(action, this.stops.active);
  }

  private async endCovered({ asked, end }: RunningAction, added: readonly Stop[]): Promise<void> {
    const failure = await this.failureBy(asked, added);
    if (failure !== null) end(failure);
  }

  private async failureBy(
    { agentId, action }: RunningAction['asked'],
    stops: readonly Stop[],
  ): Promise<ActionFailure | null> {
    const near = stops.filter((stop) => coversAction(stop, action) && (stop.agentId ?? agentId) === agentId);
    if (near.length === 0) return null;
    const roles = await this.rolesOf(agentId);
    // Where the roles cannot be read the action is stopped: that does the least harm.
    const stop = roles === null ? near[0] : stopCovering(near, { agentId, roles }, action);
    return stop === undefined ? null : new ActionFailure(`The stop ${stop.id} ended this action.`, 'stopped');
  }

  private async rolesOf(agentId: string): Promise<readonly string[] | null> {
    const agent = await this.records.find(AGENT, agentId, SYSTEM_CALLER).catch(() => undefined);
    return agent?.roles ?? null;
  }
}
