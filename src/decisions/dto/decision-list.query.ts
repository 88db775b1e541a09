import { normaliseAgentName } from '../../agents/agent-name';
import { RISK_LEVELS, type RiskLevel } from '../../config/configuration';
import { ListQuery } from '../../http/lists/list.query';
import { QueryOneOf, QueryText } from '../../http/validation/query-fields';
import { DECISION_STATUSES, type DecisionStatus } from '../decision.entity';

export class DecisionListQuery extends ListQuery {
  @QueryOneOf(DECISION_STATUSES, { enumName: 'DecisionStatus', description: 'Only decisions of this status.' })
  readonly status?: DecisionStatus;

  @QueryOneOf(RISK_LEVELS, { enumName: 'RiskLevel', description: 'Only decisions of this risk level.' })
  readonly riskLevel?: RiskLevel;

  @QueryText({ max: 100, description: 'Only decisions of this type.' })
  readonly type?: string;

  @QueryText({
    max: 500,
    description: 'Only decisions proposed by the agent with this id or name.',
    normalise: normaliseAgentName,
  })
  readonly proposedBy?: string;

  @QueryText({ max: 100, description: 'Only the decision of the execution with this id.' })
  readonly executionId?: string;

  @QueryText({
    max: 500,
    description: 'Only the proposed decisions that the agent with this id or name could approve now.',
    normalise: normaliseAgentName,
  })
  readonly awaiting?: string;
}
