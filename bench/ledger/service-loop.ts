import type { INestApplicationContext } from '@nestjs/common';
import { AgentsService } from '../../src/governance/agents/agents.service';
import { createApp } from '../../src/create-app';
import { DecisionReviewsService } from '../../src/governance/decisions/decision-reviews.service';
import { DecisionsService } from '../../src/governance/decisions/decisions.service';
import { ClaimsService, EntitiesService } from '../../src/governance/entities/entities.service';
import { ExecuteService } from '../../src/governance/execute/execute.service';
import { type Caller, unlimitedIdentity } from '../../src/ledger/kinds/caller';
import { PoliciesService } from '../../src/governance/policies/policies.service';
import { CALLERS, type CommandKind, type LoopOrder } from './command-kind';
import { type CommandLoop, serveOrders } from './loop-program';
import { AGENT, CLAIM, DECISION, ENTITY, EXECUTION, policies, POOL } from './samples';

const CALLER: Caller = {
  ...unlimitedIdentity({ type: 'api_key', id: 'env' }),
  requestId: 'benchmark',
  ip: '127.0.0.1',
  traceId: null,
};

/** Runs the commands as the service's own controllers call them. */
class ServiceLoop implements CommandLoop {
  private readonly entityIds: string[] = [];
  private agentIds: string[] = [];
  private decisionIds: string[] = [];
  private names = 0;
  private readonly entities = this.application.get(EntitiesService);
  private readonly claims = this.application.get(ClaimsService);
  private readonly agents = this.application.get(AgentsService);
  private readonly decisions = this.application.get(DecisionsService);
  private readonly reviews = this.application.get(DecisionReviewsService);
  private readonly executions = this.application.get(ExecuteService);
  private readonly policies = this.application.get(PoliciesService);

  constructor(private readonly application: INestApplicationContext) {}

  async open(policiesInForce: number): Promise<this> {
    for (const policy of policies(policiesInForce)) await this.policies.create(CALLER, policy);
    await inParallel(POOL, async () => {
      this.entityIds.push((await this.entities.create(CALLER, ENTITY)).id);
      this.agentIds.push((await this.createAgent()).id);
    });
    return this;
  }

  async prepare({ kind, commands }: LoopOrder): Promise<void> {
    if (kind !== 'approve') return;
    const [proposedBy = ''] = this.agentIds;
    this.decisionIds = [];
    await inParallel(commands, async () => {
      this.decisionIds.push((await this.decisions.propose(CALLER, { ...DECISION, proposedBy })).id);
    });
  }

  run({ kind, commands }: LoopOrder, latencies: number[]): Promise<void> {
    const command = this.commandOf(kind);
    return inParallel(commands, async (index) => {
      const start = performance.now();
      await command(index);
      latencies.push(performance.now() - start);
    });
  }

  close(): Promise<void> {
    return this.application.close();
  }

  private commandOf(kind: CommandKind): (index: number) => Promise<unknown> {
    // The first agent is the proposer.
    const pooledId = (ids: readonly string[], index: number): string => ids[1 + (index % (POOL - 1))] ?? '';
    switch (kind) {
      case 'create entity':
        return () => this.entities.create(CALLER, ENTITY);
      case 'add claim':
        return (index) => this.claims.add(CALLER, pooledId(this.entityIds, index), CLAIM);
      case 'create agent':
        return () => this.createAgent();
      case 'approve':
        return (index) => {
          const review = { verdict: 'approve', approver: pooledId(this.agentIds, index), comment: null } as const;
          return this.reviews.review(CALLER, this.decisionIds[index] ?? '', review);
        };
      case 'execute':
        return (index) => this.executions.execute(CALLER, pooledId(this.agentIds, index), EXECUTION);
    }
  }

  private createAgent(): ReturnType<AgentsService['create']> {
    this.names += 1;
    return this.agents.create(CALLER, { ...AGENT, name: `agent-${this.names}` });
  }
}

/** Runs `turn` so many times, `CALLERS` at a time. */
async function inParallel(turns: number, turn: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < turns) {
      const index = next;
      next += 1;
      await turn(index);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

void serveOrders(async () => {
  const policiesInForce = Number(process.argv[2] ?? 1);
  return new ServiceLoop(await createApp()).open(policiesInForce);
});
