import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiRecordId } from '../http/openapi/documentation.decorators';
import { Caller } from '../http/input/caller.decorator';
import { ClientSignal } from '../http/responses/response-end';
import { ApiList } from '../http/lists/api-list.decorator';
import { conditionsOf } from '../http/lists/list.query';
import { type ListResponse, Lists } from '../http/lists/lists';
import { ApiErrors, RequiresScope } from '../http/request/routes';
import { IncidentListQuery } from './dto/incident-list.query';
import { IncidentResponse } from './dto/incident.response';
import { ReportIncidentRequest } from './dto/report-incident.request';
import { INCIDENT_CLOSED } from './incident-closed';
import { INCIDENT } from './incident.kind';
import { IncidentsService } from './incidents.service';

@ApiTags('Incidents')
@Controller('incidents')
export class IncidentsController {
  constructor(
    private readonly incidents: IncidentsService,
    private readonly lists: Lists,
  ) {}

  @Get()
  @RequiresScope('read')
  @ApiOperation({ summary: 'List incidents', description: 'All incidents, open and closed.' })
  @ApiList(IncidentResponse, 'Incidents in order of creation.')
  async list(
    @ClientSignal() signal: AbortSignal,
    @Query() query: IncidentListQuery,
  ): Promise<ListResponse<IncidentResponse>> {
    const list = await this.lists.open('incidents', query, { limit: 50, order: 'asc' }, signal);
    const conditions = conditionsOf(list.filters, {
      severity: ['severity', 'equals'],
      label: ['labels', 'contains'],
      from: ['createdAt', 'atLeast'],
    });
    return list.answer(await this.incidents.list(list.request(conditions)), IncidentResponse.from);
  }

  @Post()
  @RequiresScope('entities')
  @ApiOperation({ summary: 'Report an incident', description: 'It is open until it is closed.' })
  @ApiCreatedResponse({ type: IncidentResponse, description: 'The reported incident.' })
  async report(@Caller() caller: Caller, @Body() body: ReportIncidentRequest): Promise<IncidentResponse> {
    return IncidentResponse.from(await this.incidents.report(caller, body));
  }

  @Get(':id')
  @RequiresScope('read')
  @ApiOperation({ summary: 'Read an incident', description: 'The incident as it is now.' })
  @ApiRecordId(INCIDENT)
  @ApiOkResponse({ type: IncidentResponse, description: 'The incident.' })
  @ApiErrors('NOT_FOUND')
  async get(@Param('id') id: string): Promise<IncidentResponse> {
    return IncidentResponse.from(await this.incidents.get(id));
  }

  @Post(':id/close')
  @HttpCode(200)
  @RequiresScope('entities')
  @ApiOperation({ summary: 'Close an incident', description: 'Once, and for good.' })
  @ApiRecordId(INCIDENT)
  @ApiOkResponse({ type: IncidentResponse, description: 'The closed incident.' })
  @ApiErrors('NOT_FOUND', INCIDENT_CLOSED)
  async close(@Caller() caller: Caller, @Param('id') id: string): Promise<IncidentResponse> {
    return IncidentResponse.from(await this.incidents.close(caller, id, null));
  }
}
