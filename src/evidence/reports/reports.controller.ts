import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ClientSignal } from '../../http/responses/response-end';
import { Caller } from '../../http/input/caller.decorator';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { RequiresScope } from '../../http/request/routes';
import { OversightQuery, OversightResponse } from './dto/oversight.response';
import { OversightService } from './oversight.service';

@ApiTags('Reports')
@RequiresScope('audit')
@Controller('reports')
export class ReportsController {
  constructor(private readonly oversight: OversightService) {}

  @Get('oversight')
  @ApiRoute(
    'Report on a period',
    'What agents requested, what was refused and why, who approved and how fast, and which policies decided. The ' +
      'counts are exact: of the executions created and the decisions proposed in the period, as they are now. Anybody ' +
      'can recompute them from an export. Past hours are counted once, and again when something in them has changed.',
  )
  @Answers({ type: OversightResponse, description: 'The report.' })
  async read(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Query() query: OversightQuery,
  ): Promise<OversightResponse> {
    return this.oversight.report(caller, query, signal);
  }
}
