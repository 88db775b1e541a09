import { ApiProperty, ApiPropertyOptional, PartialType } from '@nestjs/swagger';
import { ApiMember, ApiNullableChoice } from '../../../http/openapi/response-members';
import { ANSWER_REASONS } from '../permissions';
import { DecidingPolicyResponse } from '../../executions/execution.entity';
import type { JsonObject } from '../../../core/json/json-value';
import { ApprovalResponse } from '../../policies/approval/approval-input';
import { RUN } from '../principals';
import { MAX_EVALUATIONS, SEMANTICS, type Semantic } from './access-evaluations';

/**
 * Schemas of the standard's bodies for the API document. access-evaluations.ts reads the bodies; these schemas do not
 * validate them.
 */

const PROPERTIES = { type: 'object', additionalProperties: true } as const;

const CONTEXT = {
  ...PROPERTIES,
  description: 'Other members are ignored.',
  properties: {
    agent: { type: 'string', description: 'The agent that acts, by id or name. The subject is then its principal.' },
    run: { type: 'string', minLength: 1, maxLength: RUN.max, description: 'The conversation or task.' },
  },
} as const;

class AccessSubject {
  @ApiMember('`agent` for an agent of this service; any other type is accepted, too.', { example: 'agent' })
  readonly type!: string;

  @ApiMember('For an agent, its id or name.', { example: 'reminder-bot' })
  readonly id!: string;

  @ApiPropertyOptional({ ...PROPERTIES, description: 'Of other types than `agent` the `roles` count.' })
  readonly properties?: JsonObject;
}

class AccessAction {
  @ApiProperty({ example: 'read' })
  readonly name!: string;

  @ApiPropertyOptional({ ...PROPERTIES, description: 'The parameters, which conditions of policies look at.' })
  readonly properties?: JsonObject;
}

class AccessResource {
  @ApiProperty({ example: 'document' })
  readonly type!: string;

  @ApiProperty({ example: 'reports/2026' })
  readonly id!: string;

  @ApiPropertyOptional({ ...PROPERTIES, description: 'Does not count.' })
  readonly properties?: JsonObject;
}

export class AccessEvaluation {
  @ApiProperty({ type: AccessSubject })
  readonly subject!: AccessSubject;

  @ApiProperty({ type: AccessAction })
  readonly action!: AccessAction;

  @ApiProperty({ type: AccessResource })
  readonly resource!: AccessResource;

  @ApiPropertyOptional(CONTEXT)
  readonly context?: JsonObject;
}

/** An item of a list; missing members come from those next to the list. */
class AccessEvaluationItem extends PartialType(AccessEvaluation) {}

class AccessEvaluationsOptions {
  @ApiMember('Which decision ends the list. Default: `execute_all`.', {
    enum: SEMANTICS,
    enumName: 'AccessEvaluationsSemantic',
    required: false,
  })
  readonly evaluations_semantic?: Semantic;
}

export class AccessEvaluations extends AccessEvaluationItem {
  @ApiMember('If it is missing or empty, the body is a single evaluation and is answered as such.', {
    type: [AccessEvaluationItem],
    required: false,
    maxItems: MAX_EVALUATIONS,
  })
  readonly evaluations?: readonly AccessEvaluationItem[];

  @ApiProperty({ type: AccessEvaluationsOptions, required: false })
  readonly options?: AccessEvaluationsOptions;
}

const ACCESS_REASONS = [
  ...ANSWER_REASONS,
  ...(['subject_invalid', 'resource_invalid', 'agent_unknown', 'not_this_principal'] as const),
] as const;
export type AccessReason = (typeof ACCESS_REASONS)[number];

class AccessDecisionContext {
  @ApiNullableChoice(ACCESS_REASONS, 'Null if it is allowed.')
  readonly reason!: AccessReason | null;

  @ApiMember('The first ten that decided, oldest first.', { type: [DecidingPolicyResponse], maxItems: 10 })
  readonly policies!: readonly DecidingPolicyResponse[];

  @ApiMember('Which policies were in force: hex SHA-256 of the RFC 8785 array of their sorted ids.')
  readonly policySet!: string;

  @ApiMember('The approval that would be required.', { type: ApprovalResponse, required: false })
  readonly approvalRequirement?: ApprovalResponse;
}

export class AccessDecisionResponse {
  @ApiMember('True for allow only.', { example: true })
  readonly decision!: boolean;

  @ApiProperty({ type: AccessDecisionContext })
  readonly context!: AccessDecisionContext;
}

class AccessItemError {
  @ApiProperty({ type: 'integer', example: 400 })
  readonly status!: number;

  @ApiProperty({ example: 'Invalid input: action is required.' })
  readonly message!: string;
}

class AccessItemErrorContext {
  @ApiProperty({ type: AccessItemError })
  readonly error!: AccessItemError;
}

/** Response in place of an item that is not an evaluation. */
export class AccessItemFaultResponse {
  @ApiProperty({ enum: [false], example: false })
  readonly decision!: boolean;

  @ApiProperty({ type: AccessItemErrorContext })
  readonly context!: AccessItemErrorContext;
}

export class AuthzenConfigurationResponse {
  @ApiProperty({ example: 'https://governance.example.com' })
  readonly policy_decision_point!: string;

  @ApiProperty({ example: 'https://governance.example.com/access/v1/evaluation' })
  readonly access_evaluation_endpoint!: string;

  @ApiProperty({ example: 'https://governance.example.com/access/v1/evaluations' })
  readonly access_evaluations_endpoint!: string;
}
