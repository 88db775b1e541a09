import { Body, Controller, Post } from '@nestjs/common';
import { ApiExtraModels, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { Answers, ApiRoute } from '../../../http/openapi/response-members';
import { ClientSignal } from '../../../http/responses/response-end';
import { Caller } from '../../../http/input/caller.decorator';
import { ApiErrors, RequiresScope, SetRouteMetadata } from '../../../http/request/routes';
import { ApiExamples } from '../../../http/openapi/documentation.decorators';
import { askedPermissions } from './permission-checks';
import { EvaluateRequest } from './dto/evaluate.request';
import { EvaluationResponse, EvaluationsResponse } from './dto/evaluation.response';
import { answersTo, type Asking, Evaluations } from './evaluations.service';

/** The most values in a list of questions. */
const MOST_VALUES = 100_000;

@ApiTags('Policies')
@ApiExtraModels(EvaluationResponse, EvaluationsResponse)
@Controller('policies/evaluate')
export class EvaluateController {
  constructor(private readonly evaluations: Evaluations) {}

  @Post()
  @RequiresScope('read', 'execute')
  @SetRouteMetadata({ ignoresIdempotencyKey: true, mostListedValues: MOST_VALUES })
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
    const questions = askedPermissions(defaults, requests);
    const list = {
      caller,
      questions,
      field: 'requests',
      isOpen,
      answers: (asking: Asking) => answersTo(questions, asking, { explains, isOpen }),
    };
    const { answers, policySet, agents } = await (asOf === undefined
      ? this.evaluations.check(list)
      : this.evaluations.askAsOf(list, asOf, signal));
    // Grants of an earlier time are not known.
    const results =
      asOf === undefined ? await this.evaluations.withGrants(caller, questions, agents, answers) : answers;
    const [first] = results;
    return requests === undefined && first !== undefined ? { ...first, policySet } : { results, policySet };
  }
}
