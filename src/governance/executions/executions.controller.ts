import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { withAgentId, withPersonId } from '../agents/find-agent';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { ApiRecordId } from '../../http/openapi/documentation.decorators';
import { Caller } from '../../http/input/caller.decorator';
import { RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { ApiList } from '../../http/lists/api-list.decorator';
import { conditionsOf, equalityConditions } from '../../http/lists/list.query';
import { ClientSignal } from '../../http/responses/response-end';
import { type ListResponse, Lists } from '../../http/lists/lists';
import { teamConditions } from '../../ledger/records/visibility';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { DomainError } from '../../core/errors/domain-error';
import {
  ExecutionListQuery,
  ExecutionResponse,
  ReportedResultsResponse,
  ReportResultRequest,
  ReportResultsRequest,
} from './dto/execution.dto';
import { EXECUTION } from './execution.entity';
import { ExecutionCompletions } from './execution-completions';
import type { ActionOutcome } from './handlers/action-runner';

@ApiTags('Executions')
@Controller('executions')
export class ExecutionsController {
  constructor(
    private readonly completions: ExecutionCompletions,
    private readonly lists: Lists,
    private readonly records: RecordReader,
  ) {}

  @Get()
  @RequiresScope('read', 'execute', 'review', 'report')
  @ApiRoute('List executions', 'Includes those that were refused.')
  @ApiList(ExecutionResponse, 'Executions in order of creation.')
  async list(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Query() query: ExecutionListQuery,
  ): Promise<ListResponse<ExecutionResponse>> {
    const list = await this.lists.open('executions', query, { limit: 50, order: 'asc' }, signal);
    const resolvedFilters = await withPersonId(this.records, await withAgentId(this.records, list.filters, 'agentId'));
    const { from, to, team, ...filters } = resolvedFilters;
    const ofTeam = team === undefined ? [] : teamConditions(EXECUTION, team);
    const period = conditionsOf({ from, to }, { from: ['createdAt', 'atLeast'], to: ['createdAt', 'atMost'] });
    const request = list.request([...equalityConditions(filters), ...period, ...ofTeam]);
    const page = await this.records.page(EXECUTION, request, caller);
    return list.answer(page, ExecutionResponse.from);
  }

  @Post(':id/result')
  @RequiresScope('execute', 'report')
  @ApiRoute(
    'Report the outcome of an execution',
    'For an execution that was `authorized` and has been carried out by its caller. It can be reported once. An execution with ' +
      '`via` is reported only with a key of the scope `report`, which reports no others.',
  )
  @ApiRecordId(EXECUTION)
  @Answers({ type: ExecutionResponse, description: 'The execution, which is now settled.' })
  async report(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() sent: ReportResultRequest,
  ): Promise<ExecutionResponse> {
    return ExecutionResponse.from(await this.completions.report(caller, id, outcomeOf(sent)));
  }

  @Post('results')
  @RequiresScope('execute', 'report')
  @SetRouteMetadata({ ignoresIdempotencyKey: true })
  @ApiRoute(
    'Report outcomes of executions',
    'Each outcome as if it were reported alone: one that is too late, or of an unknown execution, does not concern the others. An ' +
      'execution with `via` is reported only with a key of the scope `report`, which reports no others.',
  )
  @Answers({ type: ReportedResultsResponse, description: 'Which outcomes were taken.' })
  async reportEach(
    @Caller() caller: Caller,
    @Body() { results }: ReportResultsRequest,
  ): Promise<ReportedResultsResponse> {
    const reports = results.map(({ id, ...sent }) => ({ id, outcome: outcomeOf(sent) }));
    const refusals = await this.completions.reportEach(caller, reports);
    const data = reports.map(({ id }, place) => ({ id, error: shownRefusal(refusals[place] ?? null) }));
    return { data, total: data.length };
  }
}

function outcomeOf({ outcome, result = null, failureReason, reason }: ReportResultRequest): ActionOutcome {
  return { outcome, result, failureReason: failureReason ?? null, failureCode: reason ?? null };
}

function shownRefusal(refusal: DomainError | null): ReportedResultsResponse['data'][number]['error'] {
  return refusal && { code: refusal.code, message: refusal.message };
}
