import { Injectable, type OnModuleInit } from '@nestjs/common';
import { LedgerService } from '../../ledger/ledger.service';
import { type FollowingRows, LiveRows } from '../../ledger/live-rows';
import { RecordReader } from '../../ledger/reading/record-reader';
import { type Agent, AGENT } from './agent.entity';
import { findAgent } from './find-agent';

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
    status: 'suspended',
    actions: ['agent.suspended', 'agent.resumed', 'agent.updated'],
    keep: (agents) => {
      this.changes += 1;
      for (const agent of agents) this.keep(agent);
    },
  });

  constructor(
    private readonly ledger: LedgerService,
    private readonly reader: RecordReader,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.ledger.follow(this.rows);
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

  /** What is to be caught up with other processes before a question is answered. */
  get memory(): FollowingRows {
    return this.rows;
  }

  /** Resolves when every change is known that another process made before the call. */
  catchUp(): Promise<void> {
    return this.ledger.catchUp(this.rows);
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
