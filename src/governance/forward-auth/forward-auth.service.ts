import { Injectable } from '@nestjs/common';
import {
  callerRefused,
  DomainError,
  permissionDenied,
  policyDenied,
  requirePresent,
} from '../../core/errors/domain-error';
import type { Caller } from '../../ledger/kinds/caller';
import { ApprovalsService } from '../execute/approvals.service';
import type { ActionRequest } from '../execute/new-execution';
import { ExecuteService } from '../execute/execute.service';
import type { Execution } from '../executions/execution.entity';
import { Evaluations } from '../permissions/evaluation/evaluations.service';
import { answersTo } from '../permissions/evaluation/permission-checker';
import { SecretRedaction } from '../secrets/secret-redaction';
import type { AnswerResponse } from '../permissions/evaluation/dto/evaluation.response';
import type { ForwardedRequest } from './forwarded-request';
import type { AdmissionRule } from '../../http/request/routes';

/** Methods that change nothing. Only this spelling counts, because others may mean anything. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

type ForwardedAction = Omit<ActionRequest, 'onBehalfOf' | 'run'>;

/** Decides whether agents may send the requests about which gateways ask. */
@Injectable()
export class ForwardAuthService {
  constructor(
    private readonly executions: ExecuteService,
    private readonly approvals: ApprovalsService,
    private readonly evaluations: Evaluations,
    private readonly secrets: SecretRedaction,
  ) {}

  /**
   * Resolves with the id of the execution if the request may be sent; null if it was only evaluated.
   * @param writesOnly true if requests that only read are evaluated instead of executed
   * @throws PERMISSION_DENIED, also while it waits for an approval; POLICY_DENIED; CONFLICT if too many requests wait
   */
  async permitted(
    caller: Caller,
    { method, url, query }: ForwardedRequest,
    writesOnly: boolean,
  ): Promise<string | null> {
    const { agentId } = caller;
    if (agentId === null) throw callerRefused('caller_not_bound');
    const action = {
      action: `http.${method.toLowerCase()}`,
      resourceType: 'http',
      resourceId: url,
      parameters: query === null ? {} : { query },
    };
    const isEvaluated = writesOnly && READS.has(method) && !(await this.isOnlyObserved(caller, agentId, action));
    return isEvaluated ? null : (await this.executed(caller, agentId, action)).id;
  }

  /** Executes the action. Repeats if an equal request has used the approval meanwhile, or the approval has expired. */
  private async executed(caller: Caller, agentId: string, action: ForwardedAction): Promise<Execution> {
    for (;;) {
      const { execution } = await this.executions.execute(caller, agentId, action);
      if (execution.outcome === 'pending_approval') throw waiting(execution);
      const resumed = execution.outcome === 'approved' ? await this.resumed(caller, execution) : execution;
      if (resumed !== null) return resumed;
    }
  }

  private async resumed(caller: Caller, { id }: Execution): Promise<Execution | null> {
    try {
      return (await this.approvals.resume(caller, id)).execution;
    } catch (error) {
      if (error instanceof DomainError && error.code === 'CONFLICT') return null;
      throw error;
    }
  }

  /**
   * Evaluates the action, and resolves with true if it is allowed only because the agent is observed: then it has to be
   * recorded. Grants do not count: an evaluation uses none of them, so a single use would last for ever.
   */
  private async isOnlyObserved(caller: Caller, agent: string, action: ForwardedAction): Promise<boolean> {
    const question = { who: { agent, field: 'agent' }, ...action };
    const questions = await this.secrets.redactQuestions([question], 'query.record');
    const { answers } = await this.evaluations.check({
      caller,
      questions,
      field: 'query.record',
      answers: (checker) => answersTo(questions, checker),
    });
    answers.forEach(requireAllowed);
    return answers.some(({ observed }) => observed === true);
  }
}

function waiting({ decisionId }: Execution): DomainError {
  if (decisionId === null) throw new Error('An execution waits for no decision.');
  const message = `The request waits for the approval of the decision ${decisionId}. Repeat it once it is approved.`;
  return permissionDenied('approval_required', message, { decisionId });
}

function requireAllowed({ reason, policies: [first] }: AnswerResponse): void {
  if (reason === null) return;
  if (reason !== 'policy_denied') throw permissionDenied(reason, 'The agent may not send this request now.');
  const { id, name, version } = requirePresent(first, 'policy that denies');
  throw policyDenied({ id, name, version }, `The policy "${name}" (version ${version}) denies this request.`);
}

/** Admits only bound callers, because the request does not name the acting agent. */
@Injectable()
export class BoundCallers implements AdmissionRule {
  refusalOf({ agentId }: Pick<Caller, 'agentId'>): DomainError | null {
    return agentId === null ? callerRefused('caller_not_bound') : null;
  }
}
