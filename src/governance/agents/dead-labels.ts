import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { labelFault } from '../../core/values/label-fault';
import { AGENT } from './agent.entity';

/** Most log lines for each of the two lists. */
const MOST_LINES = 20;
const LISTS = [
  { column: 'roles', what: 'role' },
  { column: 'capabilities', what: 'capability' },
] as const;

/**
 * Reports at start which roles and capabilities match nothing, because an earlier version accepted them and this one
 * does not.
 */
@Injectable()
export class DeadLabels implements OnModuleInit {
  private readonly logger = new Logger('Agents');

  constructor(private readonly counters: CounterReader) {}

  async onModuleInit(): Promise<void> {
    for (const { column, what } of LISTS) {
      let found = 0;
      for await (const label of this.counters.valuesInUse(AGENT, column)) {
        const fault = labelFault(label);
        if (fault === undefined) continue;
        found += 1;
        if (found <= MOST_LINES) this.logger.warn(lineOn(what, label, fault));
      }
      if (found > MOST_LINES)
        this.logger.warn(`${found - MOST_LINES} more values that agents have as a ${what} match nothing.`);
    }
  }
}

function lineOn(what: string, label: string, fault: string): string {
  return (
    `Agents have the ${what} ${JSON.stringify(label)}, which matches nothing, not even in a policy that denies: a ${what} ${fault}. ` +
    `GET /api/v1/agents?${what}=${encodeURIComponent(label)} lists them; PATCH gives them another.`
  );
}
