import { Injectable, type OnModuleInit } from '@nestjs/common';
import { CounterReader } from '../ledger/reading/counter-reader';
import { LedgerService } from '../ledger/ledger.service';
import type { LedgerTransaction } from '../ledger/ledger-transaction';
import { LiveRows } from '../ledger/live-rows';
import { RecordReader } from '../ledger/reading/record-reader';
import type { Agent } from './agent.entity';
import { AGENT } from './agent.kind';
import { findAgent } from './find-agent';

/** An agent as it is, whoever changes it. */
export interface WatchedAgent {
  readonly now: Agent;
}

/**
 * Agents in memory for as long as somebody holds them: whether a token still speaks for its agent is asked several times
 * a second while it has a stream or waits.
 */
@Injectable()
export class WatchedAgents implements OnModuleInit {
  private readonly watched = new Map<string, WeakRef<{ now: Agent }>>();
  private readonly dropped = new FinalizationRegistry<string>((id) => this.forget(id));
  /** How often agents have changed. */
  private changes = 0;
  private readonly rows = new LiveRows<Agent>({
    kind: AGENT,
    actions: ['agent.updated'],
    keep: (agents) => {
      this.changes += 1;
      for (const agent of agents) {
        const held = this.held(agent.id);
        if (held !== undefined) held.now = agent;
      }
    },
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly counters: CounterReader,
  ) {}

  async onModuleInit(): Promise<void> {
    this.ledger.follow(this.rows, await this.counters.headSequence());
  }

  async find(idOrName: string): Promise<WatchedAgent | undefined> {
    for (;;) {
      const { changes } = this;
      const agent = await findAgent(this.reader, idOrName);
      if (agent === undefined) return undefined;
      // Otherwise it may have been read before the change, and would be held after it.
      if (changes === this.changes) return this.hold(agent);
    }
  }

  /** Called inside the command that changes the agent. */
  follow(transaction: LedgerTransaction, agent: Agent): void {
    this.rows.follow(transaction, [agent]);
  }

  private hold(agent: Agent): WatchedAgent {
    const held = this.held(agent.id);
    if (held === undefined) {
      const added = { now: agent };
      this.watched.set(agent.id, new WeakRef(added));
      this.dropped.register(added, agent.id);
      return added;
    }
    // Another process may have changed it just now.
    if (agent.revision > held.now.revision) held.now = agent;
    return held;
  }

  private held(id: string): { now: Agent } | undefined {
    return this.watched.get(id)?.deref();
  }

  private forget(id: string): void {
    if (this.held(id) === undefined) this.watched.delete(id);
  }
}
