import { Injectable } from '@nestjs/common';
import { type FieldFault, invalid, requirePresent } from '../../../core/errors/domain-error';
import { type Asking, Evaluations } from '../evaluation/evaluations.service';
import type { JsonObject } from '../../../core/json/json-value';
import type { Caller } from '../../../ledger/caller';
import {
  parseEvaluation,
  readParts,
  isSingle,
  type ReadEvaluation,
  listedEvaluations,
  listFaults,
  endingOf,
} from './access-evaluations';
import type { AccessDecisionResponse, AccessItemFaultResponse, AccessReason } from './authzen.schemas';

type AccessDecision = AccessDecisionResponse | AccessItemFaultResponse;

/** Answers access evaluations the way evaluate would. */
@Injectable()
export class AuthzenService {
  constructor(private readonly evaluations: Evaluations) {}

  /** @throws VALIDATION_ERROR for an invalid body; PERMISSION_DENIED when the caller may only ask for its own agent. */
  async evaluation(caller: Caller, body: JsonObject, faults: readonly FieldFault[] = []): Promise<AccessDecision> {
    const read = parseEvaluation(readParts(body));
    const all = [...faults, ...('faults' in read ? read.faults : [])];
    if (all.length > 0) throw invalid(all);
    const [decision] = await this.decisions(caller, [read], null);
    return requirePresent(decision, 'decision on an evaluation');
  }

  /** Answers a list of evaluations in the order of its items; a body without a list is a single evaluation. */
  async list(
    caller: Caller,
    body: JsonObject,
  ): Promise<AccessDecision | { readonly evaluations: readonly AccessDecision[] }> {
    const faults = listFaults(body);
    if (isSingle(body)) return this.evaluation(caller, body, faults);
    if (faults.length > 0) throw invalid(faults);
    return { evaluations: await this.decisions(caller, listedEvaluations(body), endingOf(body)) };
  }

  private async decisions(
    caller: Caller,
    items: readonly ReadEvaluation[],
    ending: boolean | null,
  ): Promise<readonly AccessDecision[]> {
    const { answers } = await this.evaluations.check({
      caller,
      questions: items.flatMap((item) => {
        if ('faults' in item) return [];
        return 'question' in item ? item.question : { who: item.who };
      }),
      field: 'evaluations',
      answers: (asking) => decisionsOn(items, ending, asking),
    });
    return answers;
  }
}

function* decisionsOn(
  items: readonly ReadEvaluation[],
  ending: boolean | null,
  asking: Asking,
): Generator<AccessDecision> {
  for (const item of items) {
    const decided = decisionOn(item, asking);
    yield decided;
    if (decided.decision === ending) return;
  }
}

function decisionOn(read: ReadEvaluation, asking: Asking): AccessDecision {
  if ('faults' in read) return faulty(read.faults);
  if ('invalid' in read) return refused(read.invalid, asking);
  if (!asking.mayName(read.question)) return refused('not_this_principal', asking);
  if (asking.unknown(read.question).length > 0) return refused('agent_unknown', asking);
  const { effect, reason, policies, approval, observed } = asking.answer(read.question);
  const { policySet } = asking;
  const context = { reason, policies, policySet, ...(observed && { observed }) };
  if (approval === null) return { decision: effect === 'allow', context };
  return { decision: false, context: { ...context, approvalRequirement: approval } };
}

function refused(reason: AccessReason, { policySet }: Asking): AccessDecision {
  return { decision: false, context: { reason, policies: [], policySet } };
}

function faulty(faults: readonly FieldFault[]): AccessDecision {
  const message = faults.map(({ field, message: fault }) => `${field} ${fault}`).join('; ');
  return { decision: false, context: { error: { status: 400, message: `Invalid input: ${message}.` } } };
}
