import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { ApiErrors, NeedsSecondPerson, RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { ClientSignal } from '../../http/responses/response-end';
import { Caller } from '../../http/input/caller.decorator';
import { ApplyPoliciesRequest, PlanPoliciesRequest } from './dto/policy-plan.requests';
import { AppliedPoliciesResponse, PolicyPlanResponse } from './dto/policy-plan.response';
import { PolicySetsService } from './policy-sets.service';

/** The most values in a set of policies. */
const MAX_VALUES = 500_000;

@ApiTags('Policies')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('policies')
export class PolicySetsController {
  constructor(private readonly sets: PolicySetsService) {}

  @Post('plan')
  @SetRouteMetadata({ ignoresIdempotencyKey: true })
  @RequiresScope('read', 'policies')
  @SetRouteMetadata({ bodyLimit: 'planBodyLimit', mostListedValues: MAX_VALUES })
  @ApiRoute(
    'Plan a set of policies',
    'Returns what would have to change to bring exactly this set of versions into force, and which requests would then get ' +
      'a different answer: for every registered agent, as if it were active and had every capability. It writes nothing. ' +
      'One plan is made at a time. Each caller may have one plan waiting, and callers take turns; further plans get ' +
      '503. `tests` are evaluated against the planned set, as in evaluate: a caller that is bound to an agent and ' +
      'lacks `read` may ask about that agent only. `replay` also evaluates recorded executions again, each with its ' +
      'agent as it was then.',
  )
  @Answers({ type: PolicyPlanResponse, description: 'What would change.' })
  @ApiErrors('CONFLICT')
  async plan(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Body() body: PlanPoliciesRequest,
  ): Promise<PolicyPlanResponse> {
    return this.sets.plan(caller, body, signal);
  }

  @Post('apply')
  @RequiresScope('policies')
  @SetRouteMetadata({ bodyLimit: 'planBodyLimit', mostListedValues: MAX_VALUES })
  @NeedsSecondPerson({
    changesPolicies: true,
    summary: (_input, applied: AppliedPoliciesResponse) => appliedWords(applied),
  })
  @ApiRoute(
    'Apply a set of policies',
    'Brings the set into force in one commit, provided that the policies in force are still those that the plan was made for. ' +
      'If nothing has to change, nothing is written.',
  )
  @Answers({ type: AppliedPoliciesResponse, description: 'What has changed.' })
  @ApiErrors('PRECONDITION_FAILED')
  async apply(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Body() body: ApplyPoliciesRequest,
  ): Promise<AppliedPoliciesResponse> {
    return this.sets.apply(caller, body, signal);
  }
}

/** Summarises a change, for example "Apply a set of policies: 2 create, 1 deactivate, and 3 agents". */
function appliedWords({ changes, agents = [] }: AppliedPoliciesResponse): string {
  const counts = new Map<string, number>();
  for (const { change } of changes) counts.set(change, (counts.get(change) ?? 0) + 1);
  const words = [...counts].map(([change, count]) => `${count} ${change}`);
  const changedAgents = agents.filter(({ change }) => change !== 'keep').length;
  return `Apply a set of policies: ${[...words, ...(changedAgents > 0 ? [`${changedAgents} agents`] : [])].join(', ')}`;
}
