import { Injectable } from '@nestjs/common';
import { type FieldFault, invalid, requirePresent } from '../../../core/errors/domain-error';
import { Evaluations } from '../evaluation/evaluations.service';
import type { PermissionChecker } from '../evaluation/permission-checker';
import { SecretRedaction } from '../../secrets/secret-redaction';
import type { JsonObject } from '../../../core/json/json-value';
import type { Caller } from '../../../ledger/kinds/caller';
import {
  parseEvaluation,
  readParts,
  isSingle,
  type ReadEvaluation,
  listedEvaluations,
  listFaults,
  stoppingDecision,
} from './access-evaluations';
import type { AccessDecisionResponse, AccessItemFaultResponse, AccessReason } from './authzen.schemas';

type AccessDecision = AccessDecisionResponse | AccessItemFaultResponse;

/** Answers access evaluations as evaluate does. */
@Injectable()
export class AuthzenService {
  constructor(
    private readonly evaluations: Evaluations,
    private readonly secrets: SecretRedaction,
  ) {}

  /** @throws VALIDATION_ERROR for an invalid body; PERMISSION_DENIED when the caller may only ask for its own agent. */
  async evaluation(caller: Caller, body: JsonObject, faults: readonly FieldFault[] = []): Promise<AccessDecision> {
    const read = parseEvaluation(readParts(body));
    const all = [...faults, ...('faults' in read ? read.faults : [])];
    if (all.length > 0) throw invalid(all);
    const [decision] = await this.decisions(caller, [read], { parametersField: 'action.properties' });
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
    const evaluations = await listedEvaluations(body);
    return { evaluations: await this.decisions(caller, evaluations, { stopAfter: stoppingDecision(body) }) };
  }

  private async decisions(
    caller: Caller,
    read: readonly ReadEvaluation[],
    { stopAfter = null, parametersField }: { readonly stopAfter?: boolean | null; readonly parametersField?: string },
  ): Promise<readonly AccessDecision[]> {
    const items = await this.redacted(read, parametersField);
    const { answers } = await this.evaluations.check({
      caller,
      questions: items.flatMap((item) => {
        if ('faults' in item) return [];
        return 'question' in item ? item.question : { who: item.who };
      }),
      field: 'evaluations',
      parametersField,
      answers: (checker) => decisionsOn(items, stopAfter, checker),
    });
    return answers;
  }

  private async redacted(items: readonly ReadEvaluation[], field = 'evaluations'): Promise<readonly ReadEvaluation[]> {
    const questions = items.flatMap((item) => ('question' in item ? item.question : []));
    const redacted = (await this.secrets.redactQuestions(questions, field)).values();
    return items.map((item) => {
      if (!('question' in item)) return item;
      return { question: requirePresent(redacted.next().value, 'redacted question') };
    });
  }
}

function* decisionsOn(
  items: readonly ReadEvaluation[],
  stopAfter: boolean | null,
  checker: PermissionChecker,
): Generator<AccessDecision> {
  for (const item of items) {
    const decision = decisionOn(item, checker);
    yield decision;
    if (decision.decision === stopAfter) return;
  }
}

function decisionOn(read: ReadEvaluation, checker: PermissionChecker): AccessDecision {
  if ('faults' in read) return faulty(read.faults);
  if ('invalid' in read) return refused(read.invalid, checker);
  if (!checker.mayName(read.question)) return refused('not_this_principal', checker);
  if (checker.unknownFaults(read.question).length > 0) return refused('agent_unknown', checker);
  const { effect, reason, policies, approval, observed } = checker.answer(read.question);
  const { policySet } = checker;
  const context = { reason, policies, policySet, ...(observed && { observed }) };
  if (approval === null) return { decision: effect === 'allow', context };
  return { decision: false, context: { ...context, approvalRequirement: approval } };
}

function refused(reason: AccessReason, { policySet }: PermissionChecker): AccessDecision {
  return { decision: false, context: { reason, policies: [], policySet } };
}

function faulty(faults: readonly FieldFault[]): AccessDecision {
  // All items of a list may have the faults of its defaults, so each names only the first of them.
  const { message } = invalid(faults);
  return { decision: false, context: { error: { status: 400, message } } };
}
