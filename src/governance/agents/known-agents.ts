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

/** `now` is always the agent's current state, whichever process changes it. */
export interface WatchedAgent {
  readonly now: Agent;
}

/**
 * What is known of agents without a query. Which of them are suspended: every request with a key bound to an agent checks
 * that. And agents as long as somebody holds them: for each stream and each waiting request of a token, it is checked
 * several times a second whether the token may still act as its agent.
 */
@Injectable()
export class KnownAgents implements OnModuleInit {
  private readonly suspended = new Set<string>();
  private readonly watched = new Map<string, WeakRef<{ now: Agent }>>();
  private readonly dropped = new FinalizationRegistry<string>((id) => this.forget(id));
  /** How often agents have changed. */
  private changes = 0;
  private readonly rows = new LiveRows<Agent>({
    kind: AGENT,
    actions: ['agent.suspended', 'agent.resumed', 'agent.updated'],
    keep: (agents) => {
      this.changes += 1;
      for (const agent of agents) this.keep(agent);
    },
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
    private readonly counters: CounterReader,
  ) {}

  async onModuleInit(): Promise<void> {
    const upTo = await this.counters.headSequence();
    for await (const agents of this.reader.chunks(AGENT, SUSPENDED, CHUNK)) agents.forEach((agent) => this.keep(agent));
    this.ledger.follow(this.rows, upTo);
  }

  isSuspended(id: string): boolean {
    return this.suspended.has(id);
  }

  /** Keeps the agent up to date while its result is held. */
  async watch(idOrName: string): Promise<WatchedAgent | undefined> {
    for (;;) {
      const { changes } = this;
      const agent = await findAgent(this.reader, idOrName);
      if (agent === undefined) return undefined;
      // Otherwise it may have been read before the change, and would be held after it.
      if (changes === this.changes) return this.hold(agent);
    }
  }

  /** Resolves when every change is known that another process made before the call. */
  catchUp(): Promise<void> {
    return this.ledger.catchUp(this.rows);
  }

  /** Called inside the command that changes the agent. */
  follow(transaction: LedgerTransaction, agent: Agent): void {
    this.rows.follow(transaction, [agent]);
  }

  private keep(agent: Agent): void {
    if (agent.status === 'suspended') this.suspended.add(agent.id);
    else this.suspended.delete(agent.id);
    const held = this.held(agent.id);
    if (held !== undefined) held.now = agent;
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
