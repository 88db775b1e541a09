import { Injectable, type OnModuleInit } from '@nestjs/common';
import { CounterReader } from '../ledger/reading/counter-reader';
import { LedgerService } from '../ledger/ledger.service';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { LiveRows } from '../ledger/live-rows';
import type { Condition } from '../ledger/record-page';
import { RecordReader } from '../ledger/reading/record-reader';
import type { Agent } from './agent.entity';
import { AGENT } from './agent.kind';

/** Most agents read at once. */
const CHUNK = 1_000;
const SUSPENDED: readonly Condition[] = [{ column: 'status', comparison: 'equals', value: 'suspended' }];

/** The ids of suspended agents, in memory: every request with a key bound to an agent checks them. */
@Injectable()
export class SuspendedAgents implements OnModuleInit {
  private readonly ids = new Set<string>();
  private readonly rows = new LiveRows<Agent>({
    kind: AGENT,
    actions: ['agent.suspended', 'agent.resumed'],
    keep: (agents) => {
      for (const { id, status } of agents)
        if (status === 'suspended') this.ids.add(id);
        else this.ids.delete(id);
    },
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly counters: CounterReader,
  ) {}

  async onModuleInit(): Promise<void> {
    const upTo = await this.counters.headSequence();
    for await (const agents of this.reader.chunks(AGENT, SUSPENDED, CHUNK))
      agents.forEach(({ id }) => this.ids.add(id));
    this.ledger.follow(this.rows, upTo);
  }

  has(id: string): boolean {
    return this.ids.has(id);
  }

  /** Resolves when every agent is known that another process suspended or resumed before the call. */
  catchUp(): Promise<void> {
    return this.ledger.catchUp(this.rows);
  }

  /** Called inside the command that suspends or resumes the agent. */
  follow(transaction: LedgerTransaction, agent: Agent): void {
    this.rows.follow(transaction, [agent]);
  }
}
