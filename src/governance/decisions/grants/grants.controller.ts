import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import { ClientSignal } from '../../../http/responses/response-end';
import { Caller } from '../../../http/input/caller.decorator';
import { ApiList } from '../../../http/lists/api-list.decorator';
import { equalityConditions } from '../../../http/lists/list.query';
import { type ListResponse, Lists } from '../../../http/lists/lists';
import { Answers, ApiRoute } from '../../../http/openapi/response-members';
import { ApiRecordId } from '../../../http/openapi/documentation.decorators';
import { AdmittedBy, AnyScope, RequiresScope, SetRouteMetadata } from '../../../http/request/routes';
import { RecordReader } from '../../../ledger/reading/record-reader';
import { withAgentId } from '../../agents/find-agent';
import { GrantListQuery, GrantResponse, RevokeGrantRequest } from './dto/grant.dto';
import { GRANT } from './grant.entity';
import { GrantReaders, GrantsService } from './grants.service';

@ApiTags('Grants')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('grants')
export class GrantsController {
  constructor(
    private readonly grants: GrantsService,
    private readonly lists: Lists,
    private readonly records: RecordReader,
  ) {}

  @Get()
  @AnyScope()
  @AdmittedBy(GrantReaders)
  @ApiRoute('List grants', 'Actions that agents may repeat without another approval, and how often they have done so.')
  @ApiList(GrantResponse, 'Grants in order of creation.')
  async list(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Query() query: GrantListQuery,
  ): Promise<ListResponse<GrantResponse>> {
    const list = await this.lists.open('grants', query, { limit: 50, order: 'asc' }, signal);
    const filters = await withAgentId(this.records, list.filters, 'agentId');
    const page = await this.records.page(GRANT, list.request(equalityConditions(filters)), caller);
    return list.answer({ ...page, rows: await this.grants.withUses(page.rows) }, GrantResponse.from);
  }

  @Get(':id')
  @AnyScope()
  @AdmittedBy(GrantReaders)
  @ApiRoute('Read a grant', 'What it allows, until when, and how often it has been used.')
  @ApiRecordId(GRANT)
  @Answers({ type: GrantResponse, description: 'The grant.' })
  async get(@Caller() caller: Caller, @Param('id') id: string): Promise<GrantResponse> {
    return GrantResponse.from(await this.grants.get(caller, id));
  }

  @Post(':id/revoke')
  @RequiresScope('review')
  @ApiRoute(
    'Revoke a grant',
    'From this commit on, it cannot be used. For its reviewers, callers with `admin`, and keys that are not bound ' +
      'to an agent.',
  )
  @ApiRecordId(GRANT)
  @ApiBody({ type: RevokeGrantRequest, required: false })
  @Answers({ type: GrantResponse, description: 'The revoked grant.' })
  async revoke(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() { reason }: RevokeGrantRequest,
  ): Promise<GrantResponse> {
    return GrantResponse.from(await this.grants.revoke(caller, id, reason ?? null));
  }
}
