import { Injectable } from '@nestjs/common';
import { ActivePolicies } from '../policies/active-policies';
import type { DecidingPolicy } from '../policies/evaluation/evaluation-request';
import { type PolicyAgent, subjectOf } from '../policies/subject-of';
import { decisionResource } from './decision-rules';
import type { Decision, Verdict } from './decision.entity';

/** Reviewers need no policy that allows them, but one that denies stops them. */
@Injectable()
export class ReviewPolicies {
  constructor(private readonly policies: ActivePolicies) {}

  /** The policies in force that deny an agent this verdict, oldest first; none if it may give it. */
  denying(
    decision: Pick<Decision, 'riskLevel' | 'type'>,
    verdict: Verdict,
    agent: PolicyAgent,
  ): readonly DecidingPolicy[] {
    const { effect, policies } = this.policies.evaluate({
      subject: subjectOf(agent),
      action: `decision:${verdict}`,
      resourceType: 'decision',
      resourceId: decisionResource(decision),
      parameters: {},
      isReview: true,
    });
    return effect === 'deny' ? policies : [];
  }
}
