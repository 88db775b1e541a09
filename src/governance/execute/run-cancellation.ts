import { DECISION, type Decision } from '../decisions/decision.entity';
import { isExpired } from '../decisions/decision-rules';
import { cancelDecision, expireDecision } from '../decisions/decision-settlement';
import { requirePresent } from '../../core/errors/domain-error';
import { jsonLength } from '../../core/json/json-length';
import { cancelApproved, expireApproval, isApprovalOver } from '../executions/execution-rules';
import { EXECUTION, type Execution } from '../executions/execution.entity';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { MAX_CANCELLED_CHARACTERS } from './approval-requests';

/** Most executions that one request cancels. */
const MAX_CANCELLED = 1_000;
/** Executions read per statement; their parameters may be large. */
const CHUNK = 5;

/** The run to cancel, and the reason. */
interface CancelledRun {
  readonly agentId: string;
  readonly run: string;
  readonly reason: string | null;
}

/** Number of cancelled executions, and whether the run has more. */
export interface RunCancellation {
  readonly cancelled: number;
  readonly more: boolean;
}

/**
 * Cancels executions of a run that wait for approval or are approved, the newest first. Expired ones are settled as
 * such.
 */
export async function cancelRun(
  transaction: ServiceTransaction,
  { agentId, run, reason }: CancelledRun,
): Promise<RunCancellation> {
  const ids = await openIds(transaction, { agentId, run });
  // All reads come before the changes.
  const open = await boundedExecutions(transaction, ids.slice(0, MAX_CANCELLED));
  let cancelled = 0;
  for (const execution of open) if (await cancelUnlessOver(transaction, execution, reason)) cancelled += 1;
  return { cancelled, more: open.length < ids.length };
}

async function openIds(
  transaction: ServiceTransaction,
  { agentId, run }: Pick<CancelledRun, 'agentId' | 'run'>,
): Promise<string[]> {
  const open = [];
  for (const outcome of ['pending_approval', 'approved'] as const)
    open.push(...(await transaction.findNewest(EXECUTION, [], { agentId, outcome, run }, MAX_CANCELLED + 1)));
  return open.sort((one, other) => other.createdSequence - one.createdSequence).map(({ id }) => id);
}

async function boundedExecutions(transaction: ServiceTransaction, ids: readonly string[]): Promise<OpenExecution[]> {
  const open: OpenExecution[] = [];
  let characters = 0;
  for (let start = 0; start < ids.length && characters < MAX_CANCELLED_CHARACTERS; start += CHUNK) {
    const keys = ids.slice(start, start + CHUNK).map((id) => [id]);
    const executions = await transaction.findAmong(EXECUTION, ['id'], keys);
    const decisions = await decisionsOf(transaction, executions);
    for (const execution of executions) {
      const decision = decisions.get(execution.decisionId ?? '');
      characters += jsonLength(execution, decision);
      open.push({ execution, decision });
    }
  }
  return open;
}

async function decisionsOf(
  transaction: ServiceTransaction,
  executions: readonly Execution[],
): Promise<ReadonlyMap<string, Decision>> {
  const ids = executions.flatMap(({ outcome, decisionId }) =>
    outcome === 'pending_approval' && decisionId !== null ? [[decisionId]] : [],
  );
  const decisions = ids.length === 0 ? [] : await transaction.findAmong(DECISION, ['id'], ids);
  return new Map(decisions.map((decision) => [decision.id, decision]));
}

/** An execution that waits for approval, with its decision, or that is approved. */
interface OpenExecution {
  readonly execution: Execution;
  readonly decision: Decision | undefined;
}

/** Cancels an execution; returns false if it had expired. */
export async function cancelUnlessOver(
  transaction: ServiceTransaction,
  { execution, decision }: OpenExecution,
  reason: string | null,
): Promise<boolean> {
  if (execution.outcome === 'approved') {
    if (isApprovalOver(execution, transaction.now)) {
      expireApproval(transaction, execution);
      return false;
    }
    cancelApproved(transaction, execution, reason);
    return true;
  }
  const pending = requirePresent(decision, `decision of the execution ${execution.id}`);
  if (isExpired(pending, transaction.now)) {
    await expireDecision(transaction, pending);
    return false;
  }
  await cancelDecision(transaction, pending, reason);
  return true;
}
