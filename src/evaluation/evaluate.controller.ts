import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { ClientLeft } from '../http/answers/client-left.decorator';
import { Caller } from '../http/pipeline/caller.decorator';
import { IgnoresIdempotencyKey, RequiresScope } from '../http/request/route-marks';
import { ApiExamples } from '../openapi/api-examples.decorator';
import { askedPermissions } from './asked-permission';
import { EvaluateRequest } from './dto/evaluate.request';
import { AnswerResponse, EvaluationResponse, EvaluationsResponse } from './dto/evaluation.response';
import { Evaluations } from './evaluations.service';

@ApiTags('Policies')
@ApiExtraModels(EvaluationResponse, EvaluationsResponse)
@Controller('policies/evaluate')
export class EvaluateController {
  constructor(private readonly evaluations: Evaluations) {}

  @Post()
  @RequiresScope('read', 'execute')
  @IgnoresIdempotencyKey()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Ask whether somebody may do something',
    description:
      'Answers as execute would, by agent, capabilities and policies, and does nothing. Whatever depends on earlier requests ' +
      '(asked again, rejected, too many pending) is not considered. A caller that is bound to an agent and lacks `read` asks for ' +
      'that agent alone.',
  })
  @ApiExamples({
    'one question': {},
    'with an explanation': { resourceId: 'invoices/closed/2019', explain: true },
    'several questions': {
      requests: [{}, { action: 'write-off', parameters: { amount: 80 } }, { resourceId: 'invoices/closed/2019' }],
    },
  })
  @ApiOkResponse({
    description: 'The answer, or with `requests` the answers.',
    schema: { anyOf: [{ $ref: getSchemaPath(EvaluationResponse) }, { $ref: getSchemaPath(EvaluationsResponse) }] },
  })
  async action(
    @Caller() caller: Caller,
    @ClientLeft() leaving: AbortSignal,
    @Body() { requests, explain = false, asOf, ...defaults }: EvaluateRequest,
  ): Promise<EvaluationResponse | EvaluationsResponse> {
    const asked = askedPermissions(defaults, requests);
    const { answers, policySet } = await this.evaluations.answers(caller, asked, { explains: explain, asOf, leaving });
    const [first] = answers;
    if (requests === undefined && first !== undefined) return { ...AnswerResponse.from(first), policySet };
    return { results: answers.map(AnswerResponse.from), policySet };
  }
}
