import os from 'node:os';
import { createApp } from '../../src/create-app';
import { AGENT } from '../../src/governance/agents/agent.entity';
import { DECISION, proposedNote } from '../../src/governance/decisions/decision.entity';
import { EXECUTION, noteOf } from '../../src/governance/executions/execution.entity';
import { resourceKey } from '../../src/governance/policies/conditions/condition';
import { type Caller, unlimitedIdentity } from '../../src/ledger/kinds/caller';
import type { Command, LedgerTransaction } from '../../src/ledger/commands/ledger-transaction';
import { LedgerService } from '../../src/ledger/ledger.service';
import { AGENT as AGENT_SAMPLE, DECISION as DECISION_SAMPLE, EXECUTION as EXECUTION_SAMPLE } from '../ledger/samples';
import { serviceSettings } from '../support/settings';

/** Number of executions of one command. */
const CHUNK_SIZE = 500;
const AGENTS = 50;
const POLICIES = 20;
/** Number of executions for each denied one. */
const EXECUTIONS_PER_DENIAL = 10;
/** Number of executions for each one that needs an approval. */
const EXECUTIONS_PER_APPROVAL = 25;
const CALLER: Caller = {
  ...unlimitedIdentity({ type: 'api_key', id: 'env' }),
  requestId: 'seeding',
  ip: '127.0.0.1',
  traceId: null,
};

/** Fills a database through the ledger with so many executions, spread evenly over the given milliseconds until now. */
export async function seedExecutions(database: string, executions: number, durationMs: number): Promise<void> {
  const [now, uptime] = [Date.now.bind(Date), os.uptime.bind(os)];
  let ageMs = durationMs;
  // Changes both: the service stops writing if the clock jumps against the uptime.
  Date.now = () => now() - ageMs;
  os.uptime = () => uptime() - ageMs / 1_000;
  const application = await createApp({ environment: { ...serviceSettings(database), LOG_LEVEL: 'silent' } });
  try {
    const ledger = application.get(LedgerService);
    const agents = await ledger.write(CALLER, addAgents);
    for (let start = 0; start < executions; start += CHUNK_SIZE) {
      ageMs = durationMs * (1 - start / executions);
      await ledger.write(CALLER, addExecutions(start, agents));
    }
  } finally {
    await application.close();
    Date.now = now;
    os.uptime = uptime;
  }
}

async function addAgents(transaction: LedgerTransaction): Promise<readonly string[]> {
  return Array.from({ length: AGENTS }, (_, index) => {
    const id = transaction.newId(AGENT);
    const times = { createdAt: transaction.now, updatedAt: transaction.now, revision: 1 };
    const agent = { id, name: `agent-${index}`, kind: 'machine', status: 'active', ...AGENT_SAMPLE, ...times } as const;
    transaction.insert(
      AGENT,
      { ...agent, observeUntil: null, slackId: null, directory: null, team: null },
      { action: 'agent.registered', agentId: id },
    );
    return id;
  });
}

function addExecutions(first: number, agents: readonly string[]): Command<void> {
  return async (transaction) => {
    for (let index = first; index < first + CHUNK_SIZE; index += 1) addExecution(transaction, index, agents);
  };
}

function addExecution(transaction: LedgerTransaction, index: number, agents: readonly string[]): void {
  const { now } = transaction;
  const [agentId = '', approverId = ''] = [agents[index % AGENTS], agents[0]];
  const id = transaction.newId(EXECUTION);
  const subject = {
    executionId: id,
    actionHash: null,
    approvers: null,
    executeWithin: null,
    onBehalfOf: null,
    run: null,
  };
  const unset = { erased: false, traceId: null };
  const needsApproval = index % EXECUTIONS_PER_APPROVAL === 0;
  const decisionId = needsApproval ? transaction.newId(DECISION) : null;
  if (decisionId !== null) {
    const resolvedAt = new Date(Date.parse(now) + (index % 1_000) * 100).toISOString();
    const review = { approverId, verdict: 'approve', comment: null, createdAt: resolvedAt, groups: [] } as const;
    const end = { status: 'approved', requiredApprovals: 1, reviews: [review], resolvedAt } as const;
    const times = { createdAt: now, updatedAt: resolvedAt, expiresAt: null };
    const decision = {
      id: decisionId,
      ...DECISION_SAMPLE,
      proposedBy: agentId,
      ...end,
      ...times,
      ...subject,
      grant: null,
      change: null,
      actor: null,
      escalatesAt: null,
      ...unset,
    };
    transaction.insert(DECISION, decision, proposedNote(decision));
  }
  const isDenied = !needsApproval && index % EXECUTIONS_PER_DENIAL === 1;
  const [outcome, reason] = isDenied ? (['denied', 'no_policy_allows'] as const) : (['executed', null] as const);
  const policy = {
    id: `pol_${index % POLICIES}`,
    name: `policy-${index % POLICIES}`,
    version: '1',
    effect: 'allow',
  } as const;
  const execution = {
    id,
    agentId,
    agentName: `agent-${index % AGENTS}`,
    ...EXECUTION_SAMPLE,
    outcome,
    reason,
    decisionId,
    policies: isDenied ? [] : [policy],
    actionHash: null,
    approvedUntil: null,
    result: null,
    failureReason: null,
    createdAt: now,
    completedAt: now,
    entityId: null,
    observed: false,
    onBehalfOf: null,
    principal: null,
    run: null,
    resourceKey: resourceKey(EXECUTION_SAMPLE),
    runBy: '',
    resumedSequence: null,
    via: null,
    grantId: null,
    instead: null,
    ...unset,
  };
  transaction.insert(EXECUTION, execution, noteOf(execution, 'execution.authorized'));
}
