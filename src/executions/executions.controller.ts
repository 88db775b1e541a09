import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiRecordId } from '../docs/api-record-id.decorator';
import { ApiErrors } from '../http/errors/api-errors.decorator';
import { ApiList } from '../http/lists/api-list.decorator';
import { conditionsOf } from '../http/lists/conditions';
import { Lists } from '../http/lists/lists';
import type { ListAnswer } from '../http/lists/open-list';
import { ExecutionListQuery } from './dto/execution-list.query';
import { ExecutionResponse } from './dto/execution.response';
import { EXECUTION } from './execution.kind';
import { ExecutionsService } from './executions.service';

@ApiTags('Executions')
@Controller('executions')
export class ExecutionsController {
  constructor(
    private readonly executions: ExecutionsService,
    private readonly lists: Lists,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List executions', description: 'Those that were refused, too.' })
  @ApiList(ExecutionResponse, 'Executions in order of creation.')
  async list(@Query() query: ExecutionListQuery): Promise<ListAnswer<ExecutionResponse>> {
    const list = this.lists.open('executions', query, { limit: 50, order: 'asc' });
    const conditions = conditionsOf(list.filters, {
      agentId: ['agentId', 'equals'],
      action: ['action', 'equals'],
      outcome: ['outcome', 'equals'],
      from: ['createdAt', 'atLeast'],
      to: ['createdAt', 'atMost'],
    });
    return list.answer(await this.executions.list(list.request(conditions)), ExecutionResponse.from);
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read an execution' })
  @ApiRecordId(EXECUTION)
  @ApiOkResponse({ type: ExecutionResponse, description: 'The execution.' })
  @ApiErrors('NOT_FOUND')
  async get(@Param('id') id: string): Promise<ExecutionResponse> {
    return ExecutionResponse.from(await this.executions.get(id));
  }
}
