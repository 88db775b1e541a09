import { Injectable } from '@nestjs/common';
import { requireActingAgent, agentLookup, requireActsAs, suspension } from '../agents/find-agent';
import { AGENT } from '../agents/agent.entity';
import { Configuration } from '../../core/config/configuration';
import {
  conflict,
  DomainError,
  invalidField,
  notFound,
  requireFound,
  scopeMissing,
} from '../../core/errors/domain-error';
import { requireAhead } from '../../http/validation/fields';
import { EXECUTION } from '../executions/execution.entity';
import { type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { Refusal, type ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import { LedgerService } from '../../ledger/ledger.service';
import { byId } from '../../ledger/kinds/lookup';
import { type Moment, RecordHistory } from '../../ledger/record-history';
import { type ApproverGroup, sumOfApprovals } from '../policies/approval/approval-requirement';
import { filledGroups, lateEscalations } from '../policies/approval/approval-input';
import { isAboutChange, isChangeReview, isProposerOf } from './changes/change';
import { DECISION, type Decision, proposedDecision, proposedNote } from './decision.entity';
import { finalityConflict, isExpired } from './decision-rules';
import { cancelDecision, expireDecision } from './decision-settlement';
import { bodyOfChange } from './changes/change-requests';
import type { HeldChangeResponse } from './dto/decision.response';
import { Database } from '../../ledger/database/database';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { ProposeDecisionRequest } from './dto/decision.requests';

/** Type of the decisions by which agents ask people a question. */
const QUESTION = 'question';
/** Most open questions of one agent. */
const MAX_OPEN_QUESTIONS = 20;

/** @throws CONFLICT if the agent has as many open questions as it may. */
async function requireRoomForQuestion(transaction: ServiceTransaction, proposedBy: string): Promise<void> {
  const openCount = await transaction.count(DECISION, { proposedBy, status: 'proposed', type: QUESTION });
  if (openCount >= MAX_OPEN_QUESTIONS)
    throw conflict(
      `The agent has ${openCount} open questions, and at most ${MAX_OPEN_QUESTIONS} may be open: wait for answers, or cancel some.`,
    );
}

/** @throws VALIDATION_ERROR for an escalation that would come when the decision has expired. */
function requireEscalations(groups: readonly ApproverGroup[] | null, expiresAt: string | undefined, now: string): void {
  if (groups === null || expiresAt === undefined) return;
  const [late] = lateEscalations(groups, Date.parse(expiresAt) - Date.parse(now));
  if (late !== undefined)
    throw invalidField(`approvers[${late}].escalate.after`, `must end before expiresAt, which is ${expiresAt}`);
}

@Injectable()
export class DecisionsService {
  constructor(
    private readonly ledger: LedgerService,
    private readonly history: RecordHistory,
    private readonly configuration: Configuration,
    private readonly records: RecordReader,
    private readonly database: Database,
  ) {}

  /** @throws NOT_FOUND; VALIDATION_ERROR for a moment in the future. */
  async get(caller: Caller, id: string, asOf?: Moment): Promise<Decision> {
    const decision = requireFound(await this.history.find(DECISION, id, asOf, caller), 'decision');
    if (asOf === undefined || decision.executionId === null) return decision;
    // A past state has hashed members only. These members of the execution never change, and callers who see the
    // decision may see them.
    const execution = await this.history.find(EXECUTION, decision.executionId, undefined, SYSTEM_CALLER);
    return { ...decision, onBehalfOf: execution?.onBehalfOf ?? null, run: execution?.run ?? null };
  }

  /** @throws NOT_FOUND, also for a decision on anything else; CONTENT_ERASED once it is settled. */
  async change(caller: Caller, id: string): Promise<HeldChangeResponse> {
    const { change = null } = (await this.records.find(DECISION, id, caller)) ?? {};
    if (change === null) throw notFound('change');
    const body = await bodyOfChange(this.database, id);
    if (body === undefined)
      throw new DomainError('CONTENT_ERASED', 'The body of a change is kept only until its decision is settled.');
    const { method, path, bodyHash, summary } = change;
    return { method, path, bodyHash, summary, body };
  }

  /**
   * @throws VALIDATION_ERROR for an unknown proposer; PERMISSION_DENIED for a suspended one, with the refusal recorded;
   *   CONFLICT for one question too many.
   */
  async propose(caller: Caller, request: ProposeDecisionRequest): Promise<Decision> {
    const approvers = request.approvers === undefined ? null : filledGroups(request.approvers);
    return this.ledger.withLookups(agentLookup(request.proposedBy)).write(caller, async (transaction) => {
      requireAhead(request.expiresAt, this.ledger.clockTime);
      requireEscalations(approvers, request.expiresAt, transaction.now);
      const proposer = await requireActingAgent(transaction, 'proposedBy', request.proposedBy);
      const refused = suspension(proposer);
      if (refused !== null) {
        const { riskLevel } = request;
        const denied = { outcome: 'denied', reason: 'agent_suspended', details: { riskLevel } } as const;
        // No decision is left behind.
        const note = { action: 'decision.proposal_denied', agentId: proposer.id, ...denied };
        transaction.record(AGENT, proposer, note);
        return new Refusal(refused);
      }
      const { type, title, riskLevel, description = '', context = {}, expiresAt = null } = request;
      if (type === QUESTION) await requireRoomForQuestion(transaction, proposer.id);
      const required = this.configuration.requiredApprovals[riskLevel];
      const decision = proposedDecision(transaction.newId(DECISION), transaction.now, {
        type,
        title,
        description,
        context,
        proposedBy: proposer.id,
        riskLevel,
        expiresAt,
        approvers,
        requiredApprovals: approvers === null ? required : sumOfApprovals(approvers),
        traceId: transaction.caller.traceId,
      });
      return transaction.insert(DECISION, decision, proposedNote(decision));
    });
  }

  /** @throws NOT_FOUND; CONFLICT for a settled decision. */
  cancel(caller: Caller, id: string, reason: string | null): Promise<Decision> {
    return this.ledger.withLookups(byId(DECISION, id)).write(caller, async (transaction) => {
      const decision = requireFound(await transaction.findVisible(DECISION, id), 'decision');
      requireMayCancel(transaction.caller, decision);
      if (isExpired(decision, transaction.now)) {
        await expireDecision(transaction, decision);
        return new Refusal(conflict('The decision expired before it was cancelled; that is final.'));
      }
      const obstacle = finalityConflict(decision);
      if (obstacle !== null) throw obstacle;
      return cancelDecision(transaction, decision, reason);
    });
  }
}

/** @throws PERMISSION_DENIED; CONFLICT for the review of an emergency, which only a review ends. */
function requireMayCancel(caller: Caller, decision: Decision): void {
  if (isChangeReview(decision))
    throw conflict('What was done in an emergency stays open until somebody has reviewed it: approve or reject it.');
  if (!isAboutChange(decision)) requireActsAs(caller, decision.proposedBy ?? undefined);
  else if (!isProposerOf(decision, caller) && !caller.effectiveScopes.has('admin')) throw scopeMissing(['admin']);
}
