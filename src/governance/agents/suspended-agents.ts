import { Injectable, type OnModuleInit } from '@nestjs/common';
import { CounterReader } from '../../ledger/reading/counter-reader';
import { LedgerService } from '../../ledger/ledger.service';
import type { LedgerTransaction } from '../../ledger/ledger-transaction';
import { LiveRows } from '../../ledger/live-rows';
import type { Condition } from '../../ledger/record-page';
import { RecordReader } from '../../ledger/reading/record-reader';
import { type Agent, AGENT } from './agent.entity';
import { findAgent } from './find-agent';

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

/** `now` is always the agent's current state, whichever process changes it. */
export interface WatchedAgent {
  readonly now: Agent;
}

/**
 * Keeps agents in memory while somebody holds them: for each stream and each waiting request of a token, it is checked
 * several times a second whether the token may still act as its agent.
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
