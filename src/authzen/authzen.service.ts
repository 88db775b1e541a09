import { Injectable } from '@nestjs/common';
import type { AnswerReason, PermissionAnswer } from '../authorization/permission';
import { type FieldFault, invalid } from '../errors/domain-error';
import { AnsweredApprovals } from '../evaluation/answered-approvals';
import { type Asking, Evaluations } from '../evaluation/evaluations.service';
import { DecidingPolicyResponse } from '../executions/dto/execution.response';
import type { JsonObject } from '../json/json-value';
import type { Caller } from '../ledger/caller';
import { ApprovalResponse } from '../policies/dto/policy.response';
import { Slices } from '../shared/slices';
import { evaluationOf, type InvalidReason, type ReadEvaluation, readPartsInSlices } from './access-evaluation';
import {
  endsList,
  isSingle,
  type ListedEvaluation,
  listedEvaluations,
  listFaults,
  semanticOf,
} from './access-evaluations';

/** An answer as the standard defines it. */
export interface AccessDecision {
  readonly decision: boolean;
  readonly context: DecisionContext | { readonly error: { readonly status: number; readonly message: string } };
}

interface DecisionContext {
  /** Null if it is allowed. */
  readonly reason: AnswerReason | InvalidReason | 'agent_unknown' | null;
  readonly policies: readonly DecidingPolicyResponse[];
  readonly policySet: string;
  readonly approvalRequirement?: ApprovalResponse;
}

/** Answers access evaluations the way evaluate would. */
@Injectable()
export class AuthzenService {
  constructor(private readonly evaluations: Evaluations) {}

  /** @throws VALIDATION_ERROR for an invalid body; PERMISSION_DENIED when the caller may only ask for its own agent. */
  async evaluation(caller: Caller, body: JsonObject): Promise<AccessDecision> {
    const read = evaluationOf(await readPartsInSlices(body, new Slices()));
    if ('faults' in read) throw invalid(read.faults);
    return this.evaluations.asking(caller, [whoOf(read)], async (asking) => decisionOn(read, asking));
  }

  /** The same for a list, with the answers in the order of the items; a body without a list is a single evaluation. */
  async list(
    caller: Caller,
    body: JsonObject,
  ): Promise<AccessDecision | { readonly evaluations: readonly AccessDecision[] }> {
    const faults = listFaults(body);
    if (faults.length > 0) throw invalid([...faults, ...(isSingle(body) ? await partFaults(body) : [])]);
    if (isSingle(body)) return this.evaluation(caller, body);
    const items = await listedEvaluations(body);
    const semantic = semanticOf(body);
    const everybody = items.flatMap((item) => ('faults' in item ? [] : whoOf(item)));
    return this.evaluations.asking(caller, everybody, async (asking) => {
      const slices = new Slices();
      const approvals = new AnsweredApprovals('evaluations');
      const decisions: AccessDecision[] = [];
      for (const item of items) {
        if (slices.areDue) await slices.next();
        const decided = 'faults' in item ? faulty(item) : decisionOn(item, asking);
        if ('approvalRequirement' in decided.context) approvals.add(decided.context.approvalRequirement);
        decisions.push(decided);
        if (endsList(semantic, decided.decision)) break;
      }
      return { evaluations: decisions };
    });
  }
}

/** What is wrong with the parts of a single evaluation. */
async function partFaults(body: JsonObject): Promise<readonly FieldFault[]> {
  const read = evaluationOf(await readPartsInSlices(body, new Slices()));
  return 'faults' in read ? read.faults : [];
}

function decisionOn(read: ReadEvaluation, asking: Asking): AccessDecision {
  if ('invalid' in read) return refused(read.invalid, asking);
  if (!asking.isKnown(read.question.who)) return refused('agent_unknown', asking);
  return decisionBy(asking.answer(read.question, false).answer, asking);
}

function decisionBy({ effect, reason, policies, requirement }: PermissionAnswer, asking: Asking): AccessDecision {
  const { policySet } = asking;
  const context = { reason, policies, policySet };
  if (requirement === null) return { decision: effect === 'allow', context };
  return { decision: false, context: { ...context, approvalRequirement: ApprovalResponse.from(requirement) } };
}

function refused(reason: DecisionContext['reason'], { policySet }: Asking): AccessDecision {
  return { decision: false, context: { reason, policies: [], policySet } };
}

function faulty({ faults }: Extract<ListedEvaluation, { faults: unknown }>): AccessDecision {
  const message = faults.map(({ field, message: fault }) => `${field} ${fault}`).join('; ');
  return { decision: false, context: { error: { status: 400, message: `Invalid input: ${message}.` } } };
}

function whoOf(read: ReadEvaluation): Parameters<Asking['isKnown']>[0] {
  return 'invalid' in read ? read.who : read.question.who;
}
