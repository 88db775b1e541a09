import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/configuration';
import { Waits } from '../http/waiting/waits';
import { SYSTEM_CALLER } from '../ledger/caller';
import { RecordReader } from '../ledger/reading/record-reader';
import type { Execution } from './execution.entity';
import { EXECUTION } from './execution.kind';
import { ActionRunner } from './handlers/action-runner';

/**
 * Seconds beyond ACTION_TIMEOUT: by then, the executions of a process that has ended are marked, as its lease has
 * lapsed.
 */
const MARGIN = 90;

/** Waits for executions whose handler another request runs, in this process or in another. */
@Injectable()
export class ExecutionSettlement {
  constructor(
    private readonly reader: RecordReader,
    private readonly waits: Waits,
    private readonly runner: ActionRunner,
    private readonly configuration: Configuration,
  ) {}

  /**
   * The execution once it is no longer running; in its current state if the service stops before, or it takes far too
   * long.
   */
  async of(execution: Execution): Promise<Execution> {
    if (execution.outcome !== 'running') return execution;
    return this.waits.settled({
      seconds: this.configuration.actionTimeout / 1000 + MARGIN,
      leaving: this.runner.stopping,
      read: async () => (await this.reader.find(EXECUTION, execution.id, SYSTEM_CALLER)) ?? execution,
      isOpen: ({ outcome }) => outcome === 'running',
    });
  }
}
