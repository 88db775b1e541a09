import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Configuration } from '../config/configuration';
import { RecordReader } from '../ledger/record-reader';
import type { Execution } from './execution.entity';
import { EXECUTION } from './execution.kind';
import { ActionRunner } from './handlers/action-runner';

/** Milliseconds between looks. */
const INTERVAL = 50;
/** Milliseconds beyond ACTION_TIMEOUT: what a process leaves that ends meanwhile is marked by then, as its lease has lapsed. */
const MARGIN = 90_000;

/** Waits for executions whose handler another request runs, in this process or in another. */
@Injectable()
export class ExecutionSettlement {
  constructor(
    private readonly reader: RecordReader,
    private readonly runner: ActionRunner,
    private readonly configuration: Configuration,
  ) {}

  /** The execution once it runs no more; as it stands when the service stops first, or it takes far too long. */
  async of(execution: Execution): Promise<Execution> {
    const deadline = performance.now() + this.configuration.actionTimeout + MARGIN;
    let current = execution;
    while (current.outcome === 'running') {
      current = (await this.reader.find(EXECUTION, execution.id)) ?? execution;
      if (this.runner.hasStopped || performance.now() > deadline) return current;
      if (current.outcome === 'running') await sleep(INTERVAL);
    }
    return current;
  }
}
