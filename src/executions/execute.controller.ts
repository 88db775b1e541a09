import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { Caller } from '../http/caller.decorator';
import { ApiErrors } from '../http/errors/api-errors.decorator';
import { ExecuteActionRequest } from './dto/execute-action.request';
import { ExecutionResponse } from './dto/execution.response';
import { ExecuteService } from './execute.service';

@ApiTags('Executions')
@Controller('agents/:id/execute')
export class ExecuteController {
  constructor(private readonly executions: ExecuteService) {}

  @Post()
  @HttpCode(200)
  @ApiOperation({
    summary: 'Execute an action as an agent',
    description:
      'The agent must be active, have the action among its capabilities, and be allowed by the policies in force. When a ' +
      'handler is registered for the action it runs; otherwise the caller carries the action out. A refusal is recorded.',
  })
  @ApiParam({ name: 'id', description: "The agent's id, or its name percent-encoded.", example: 'invoice-bot' })
  @ApiOkResponse({ type: ExecutionResponse, description: 'What became of it.' })
  @ApiErrors('NOT_FOUND', 'PERMISSION_DENIED', 'POLICY_DENIED')
  async execute(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { parameters = {}, ...requested }: ExecuteActionRequest,
  ): Promise<ExecutionResponse> {
    return ExecutionResponse.from(await this.executions.execute(caller, id, { ...requested, parameters }));
  }
}
