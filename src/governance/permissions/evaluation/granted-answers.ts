import { Injectable } from '@nestjs/common';
import type { Caller } from '../../../ledger/caller';
import { RecordHistory } from '../../../ledger/record-history';
import { meetingKnown } from '../../decisions/grants/grant-rules';
import { HeldGrants, type Rejected } from '../../decisions/grants/held-grants';
import type { ExplainedAnswer } from './evaluations.service';
import { agentsOf, type AskedPermission, askedPrincipal } from './questions';

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
    answers: readonly ExplainedAnswer[],
  ): Promise<readonly ExplainedAnswer[]> {
    const asked = questions.filter(
      ({ who }, index) => 'agent' in who && (answers[index]?.answer.requirement ?? null) !== null,
    );
    if (asked.length === 0) return answers;
    const agents = await agentsOf(this.history, caller, asked);
    const idOf = ({ who }: AskedPermission): string | undefined =>
      'agent' in who ? agents.get(who.agent)?.agent.id : undefined;
    const ids = new Set(asked.flatMap((question) => idOf(question) ?? []));
    const known = await this.grants.activeOf([...ids], [...new Set(asked.map(({ action }) => action))]);
    if (known.length === 0) return answers;
    const { now } = this.history;
    const rejections = new Map<string, Promise<readonly Rejected[]>>();
    const answered = answers.map(async (explained, index) => {
      const question = questions[index];
      const { requirement } = explained.answer;
      const agentId = question && idOf(question);
      if (question === undefined || requirement === null || agentId === undefined) return explained;
      const onBehalfOf = askedPrincipal(caller, question, agents)?.onBehalfOf.subject ?? null;
      const granted = { ...question, agentId, onBehalfOf };
      const serving = this.grants.firstHolding(meetingKnown(known, granted, now), requirement, now);
      if (serving === null) return explained;
      const key = JSON.stringify([agentId, granted.action, granted.resourceType, onBehalfOf]);
      const rejected = rejections.get(key) ?? this.grants.rejectionsOf(granted);
      rejections.set(key, rejected);
      if (await this.grants.isRejected(await rejected, granted, serving, now)) return explained;
      const allowed = { effect: 'allow', reason: null, requirement: null, grantId: serving.grant.id } as const;
      return { ...explained, answer: { ...explained.answer, ...allowed } };
    });
    return Promise.all(answered);
  }
}
