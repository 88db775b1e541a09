import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CancelDecisionRequest } from '../decisions/dto/decision.requests';
import { ExecutionResponse } from '../executions/dto/execution.response';
import { EXECUTION } from '../executions/execution.entity';
import { ApiErrors, RequiresScope } from '../../http/request/routes';
import { Caller } from '../../http/pipeline/caller.decorator';
import { ApiRecordId } from '../../http/openapi/documentation.decorators';
import { ApprovalsService } from './approvals.service';

@ApiTags('Executions')
@Controller('executions')
export class ApprovalsController {
  constructor(private readonly approvals: ApprovalsService) {}

  @Post(':id/resume')
  @RequiresScope('execute')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Resume an approved execution',
    description:
      'Uses the approval, once. The agent and the policies in force are checked again: a deny added since takes precedence, and ' +
      'the approval must be what they require now. A refusal is recorded, and the approval remains valid until `approvedUntil`.',
  })
  @ApiRecordId(EXECUTION, { sample: 2 })
  @ApiOkResponse({ type: ExecutionResponse, description: 'Authorized, or with the outcome of its handler.' })
  @ApiErrors('NOT_FOUND', 'CONFLICT', 'PERMISSION_DENIED', 'POLICY_DENIED')
  async resume(@Caller() caller: Caller, @Param('id') id: string): Promise<ExecutionResponse> {
    return ExecutionResponse.from(await this.approvals.resume(caller, id));
  }

  @Post(':id/cancel')
  @RequiresScope('execute')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Cancel an execution before it proceeds',
    description:
      'Cancels an execution that waits for approval, with its decision, or one that is approved. The reason is kept in the audit trail.',
  })
  @ApiRecordId(EXECUTION, { sample: 3 })
  @ApiBody({ type: CancelDecisionRequest, required: false })
  @ApiOkResponse({ type: ExecutionResponse, description: 'The cancelled execution.' })
  @ApiErrors('NOT_FOUND', 'CONFLICT')
  async cancel(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { reason }: CancelDecisionRequest,
  ): Promise<ExecutionResponse> {
    return ExecutionResponse.from(await this.approvals.cancel(caller, id, reason ?? null));
  }
}
