import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../ledger/caller';
import { RecordHistory } from '../../../ledger/record-history';
import { type GrantedAction, meetingKnown } from '../../decisions/grants/grant-rules';
import { HeldGrants, type Rejected } from '../../decisions/grants/held-grants';
import type { AnswerResponse } from './dto/evaluation.response';
import { type Agents, type AskedPermission, askedPrincipal } from './questions';

/** Turns answers that require an approval into those of execute, where a grant takes the place of the approval. */
@Injectable()
export class GrantedAnswers {
  constructor(
    private readonly history: RecordHistory,
    private readonly grants: HeldGrants,
  ) {}

  /** Reads nothing unless an approval is required. @param answers in the order of the questions */
  async withGrants(
    caller: Caller,
    questions: readonly AskedPermission[],
    agents: Agents,
    answers: readonly AnswerResponse[],
  ): Promise<readonly AnswerResponse[]> {
    const asked = questions.map((question, index): GrantedAction | null => {
      const { who } = question;
      const agentId = 'agent' in who ? agents.get(who.agent)?.agent.id : undefined;
      if (agentId === undefined || answers[index]?.approval === null) return null;
      return { ...question, agentId, onBehalfOf: askedPrincipal(caller, question, agents)?.onBehalfOf.subject ?? null };
    });
    const waiting = asked.filter((one) => one !== null);
    if (waiting.length === 0) return answers;
    const [ids, actions] = [
      new Set(waiting.map(({ agentId }) => agentId)),
      new Set(waiting.map(({ action }) => action)),
    ];
    const known = await this.grants.activeOf([...ids], [...actions]);
    if (known.length === 0) return answers;
    const { now } = this.history;
    const rejections = new Map<string, Promise<readonly Rejected[]>>();
    const answered = answers.map(async (answer, index): Promise<AnswerResponse> => {
      const one = asked[index] ?? null;
      if (one === null || answer.approval === null) return answer;
      const serving = this.grants.firstHolding(meetingKnown(known, one, now), answer.approval, now);
      if (serving === null) return answer;
      const key = JSON.stringify([one.agentId, one.action, one.resourceType, one.onBehalfOf]);
      const rejected = rejections.get(key) ?? this.grants.rejectionsOf(one);
      rejections.set(key, rejected);
      if (await this.grants.isRejected(await rejected, one, serving, now)) return answer;
      return { ...answer, effect: 'allow', reason: null, approval: null, grantId: serving.grant.id };
    });
    return Promise.all(answered);
  }
}
