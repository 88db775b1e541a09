import { createApp } from '../../src/create-app';
import { CALLERS, type CommandKind, type LoopOrder } from './command-kind';
import { type CommandLoop, serveOrders } from './loop-program';
import { addClaim, WRITE_CLAIMS } from './raw/add-claim';
import { createAgent, WRITE_AGENTS } from './raw/create-agent';
import { createEntity, WRITE_ENTITIES } from './raw/create-entity';
import { approve, propose, WRITE_APPROVALS, WRITE_DECISIONS } from './raw/decisions';
import { execute, WRITE_EXECUTIONS } from './raw/execute';
import { openRawDatabase } from './raw/open-raw-database';
import type { RawDatabase } from './raw/raw-database';
import { type RawCommand, RawLedger } from './raw/raw-ledger';
import { POOL } from './samples';

const WRITINGS: Readonly<Record<CommandKind, string>> = {
  'create entity': WRITE_ENTITIES,
  'add claim': WRITE_CLAIMS,
  'create agent': WRITE_AGENTS,
  approve: WRITE_APPROVALS,
  execute: WRITE_EXECUTIONS,
};

/** Runs the same commands with the smallest code on the driver, 64 in each commit. */
class RawLoop implements CommandLoop {
  private readonly ledger = new RawLedger(this.database);
  private names = 0;
  private entityIds: readonly string[] = [];
  private agentIds: readonly string[] = [];
  private decisionIds: readonly string[] = [];

  constructor(private readonly database: RawDatabase) {}

  async open(): Promise<this> {
    this.entityIds = await this.write(WRITE_ENTITIES, POOL, createEntity);
    this.agentIds = await this.write(WRITE_AGENTS, POOL, () => this.createAgent());
    return this;
  }

  async prepare({ kind, commands }: LoopOrder): Promise<void> {
    if (kind !== 'approve') return;
    this.decisionIds = await this.write(WRITE_DECISIONS, commands, () => propose(this.agentIds[0] ?? ''));
  }

  async run({ kind, commands }: LoopOrder, latencies: number[]): Promise<void> {
    await this.write(WRITINGS[kind], commands, this.commandOf(kind), latencies);
  }

  close(): Promise<void> {
    return this.database.close();
  }

  private commandOf(kind: CommandKind): (index: number) => RawCommand {
    // The first agent is the proposer.
    const pooledId = (ids: readonly string[], index: number): string => ids[1 + (index % (POOL - 1))] ?? '';
    switch (kind) {
      case 'create entity':
        return createEntity;
      case 'add claim':
        return (index) => addClaim(pooledId(this.entityIds, index));
      case 'create agent':
        return () => this.createAgent();
      case 'approve':
        return (index) => approve(this.decisionIds[index] ?? '', pooledId(this.agentIds, index));
      case 'execute':
        return (index) => execute(pooledId(this.agentIds, index));
    }
  }

  /** Returns the ids of the written records. */
  private async write(
    writeRows: string,
    commands: number,
    command: (index: number) => RawCommand,
    latencies: number[] = [],
  ): Promise<string[]> {
    const ids: string[] = [];
    for (let from = 0; from < commands; from += CALLERS) {
      const start = performance.now();
      const batch = Array.from({ length: Math.min(CALLERS, commands - from) }, (_, index) => command(from + index));
      ids.push(...(await this.ledger.commit(writeRows, batch)));
      const time = performance.now() - start;
      batch.forEach(() => latencies.push(time));
    }
    return ids;
  }

  private createAgent(): RawCommand {
    this.names += 1;
    return createAgent(`agent-${this.names}`);
  }
}

/** The service makes the tables, so that they and their indexes are the same. */
async function makeTables(): Promise<string> {
  const application = await createApp();
  await application.close();
  return process.env['DATABASE_URL'] ?? '';
}

void serveOrders(async () => new RawLoop(await openRawDatabase(await makeTables())).open());
