import { Body, Controller, Post } from '@nestjs/common';
import { ApiExtraModels, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { Answers, ApiRoute } from '../../../http/openapi/response-members';
import { ClientSignal } from '../../../http/responses/response-end';
import { Caller } from '../../../http/input/caller.decorator';
import { ApiErrors, RequiresScope, SetRouteMetadata } from '../../../http/request/routes';
import { ApiExamples } from '../../../http/openapi/documentation.decorators';
import { ofCallersTeam, permissionChecks } from './permission-checks';
import { EvaluateRequest } from './dto/evaluate.request';
import { EvaluationResponse, EvaluationsResponse } from './dto/evaluation.response';
import { SecretRedaction } from '../../secrets/secret-redaction';
import { Evaluations } from './evaluations.service';
import { answersTo, type PermissionChecker } from './permission-checker';

/** The most values in a list of questions. */
const MAX_VALUES = 100_000;

@ApiTags('Policies')
@ApiExtraModels(EvaluationResponse, EvaluationsResponse)
@Controller('policies/evaluate')
export class EvaluateController {
  constructor(
    private readonly evaluations: Evaluations,
    private readonly secrets: SecretRedaction,
  ) {}

  @Post()
  @RequiresScope('read', 'execute')
  @SetRouteMetadata({ ignoresIdempotencyKey: true, mostListedValues: MAX_VALUES, takesGatewayTokens: true })
  @ApiRoute(
    'Ask whether somebody may do something',
    'Answers as execute would, judging by the agent, its capabilities and the policies, and has no effect. Whatever ' +
      'depends on earlier requests (a repeated request, a rejection, too many pending approvals) is not considered. A ' +
      'caller that is bound to an agent and lacks `read` may ask about that agent only.',
  )
  @ApiExamples({
    'one question': {},
    'with an explanation': { resourceId: 'invoices/closed/2019', explain: true },
    'several questions': {
      requests: [{}, { action: 'write-off', parameters: { amount: 80 } }, { resourceId: 'invoices/closed/2019' }],
    },
  })
  @Answers({
    description: 'The answer; with `requests`, the answers.',
    schema: { anyOf: [{ $ref: getSchemaPath(EvaluationResponse) }, { $ref: getSchemaPath(EvaluationsResponse) }] },
  })
  @ApiErrors('NOT_FOUND', 'CONTENT_ERASED')
  async action(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Body() { requests, explain: explains = false, open: isOpen = false, asOf, ...defaults }: EvaluateRequest,
  ): Promise<EvaluationResponse | EvaluationsResponse> {
    const checks = ofCallersTeam(caller, permissionChecks(defaults, requests));
    const questions = await this.secrets.redactQuestions(checks, requests === undefined ? 'parameters' : 'requests');
    const list = {
      caller,
      questions,
      field: 'requests',
      ...(requests === undefined && { parametersField: 'parameters' }),
      isOpen,
      isExplained: explains,
      answers: (checker: PermissionChecker) => answersTo(questions, checker, { explains, isOpen }),
    };
    const { answers, policySet, agents } = await (asOf === undefined
      ? this.evaluations.check(list)
      : this.evaluations.checkAsOf(list, asOf, signal));
    // Grants of an earlier time are unknown.
    const results =
      asOf === undefined ? await this.evaluations.withGrants(caller, questions, agents, answers) : answers;
    const [first] = results;
    return requests === undefined && first !== undefined ? { ...first, policySet } : { results, policySet };
  }
}
