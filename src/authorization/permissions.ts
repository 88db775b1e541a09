import { Injectable } from '@nestjs/common';
import type { Agent } from '../agents/agent.entity';
import { Configuration } from '../config/configuration';
import type { DomainError } from '../errors/domain-error';
import { ActivePolicies } from '../policies/active-policies';
import { answerForAgent, refusalOf, type PermissionAnswer, type RequestedAction } from './permission';

/** Whether an agent may act. It may if there is neither a refusal nor a requirement. */
export interface Permission extends Pick<PermissionAnswer, 'requirement' | 'policies'> {
  readonly refusal: DomainError | null;
  /** The set of policies that decided. */
  readonly policySet: string;
}

/**
 * Whether an agent may act, according to the policies in force. Asked inside a command, so that nothing changes before
 * its commit.
 */
@Injectable()
export class Permissions {
  constructor(
    private readonly policies: ActivePolicies,
    private readonly configuration: Configuration,
  ) {}

  of(agent: Agent, requested: RequestedAction): Permission {
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    const evaluate = this.policies.evaluate.bind(this.policies);
    const answer = answerForAgent(agent, requested, { evaluate, defaultEffect });
    const { requirement, policies } = answer;
    const refusal = refusalOf(answer, agent, requested);
    return { refusal, requirement, policies, policySet: this.policies.policySet };
  }
}
