import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import { ClientSignal } from '../../http/responses/response-end';
import { Caller } from '../../http/input/caller.decorator';
import { ApiList } from '../../http/lists/api-list.decorator';
import { equalityConditions } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { Answers, ApiRoute, shownMembers } from '../../http/openapi/response-members';
import { ApiRecordId } from '../../http/openapi/documentation.decorators';
import { ApiErrors, RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { RecordReader } from '../../ledger/reading/record-reader';
import { CreateDelegationRequest, DelegationListQuery, DelegationResponse } from './dto/delegation.dto';
import { DELEGATION } from './delegation.entity';
import { DelegationsService } from './delegations.service';

const ApiDelegator = (): MethodDecorator =>
  ApiParam({ name: 'id', description: "The person's id, or name percent-encoded.", example: 'change-reviewer' });

@ApiTags('Delegations')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('agents/:id/delegations')
export class DelegationsController {
  constructor(
    private readonly delegations: DelegationsService,
    private readonly records: RecordReader,
    private readonly lists: Lists,
  ) {}

  @Post()
  @RequiresScope('review')
  @ApiRoute(
    'Delegate reviews',
    'While it is active, the person `to` may review in your place, by `delegationId` of approve and reject. Requires a ' +
      'key or token that is bound to the person who delegates. A person has at most five at a time.',
  )
  @ApiDelegator()
  @ApiCreatedResponse({ type: DelegationResponse, description: 'The delegation.' })
  async create(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() body: CreateDelegationRequest,
  ): Promise<DelegationResponse> {
    return DelegationResponse.from(await this.delegations.create(caller, id, body));
  }

  @Get()
  @RequiresScope('read', 'review')
  @ApiRoute(
    'List the delegations of a person',
    'Those that the person made or, with `side`, received. For callers with `read`, and for the person.',
  )
  @ApiDelegator()
  @ApiList(DelegationResponse, 'Delegations in order of creation.')
  @ApiErrors('CONFLICT')
  async list(
    @Caller() caller: Caller,
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Query() { side = 'made', ...query }: DelegationListQuery,
  ): Promise<ListAnswer<DelegationResponse>> {
    const agentId = await this.delegations.personId(caller, id);
    const list = await this.lists.open(`delegations ${side} ${agentId}`, query, { limit: 50, order: 'asc' }, signal);
    const person = side === 'made' ? { agentId } : { to: agentId };
    const request = list.request(equalityConditions({ ...person, ...list.filters }));
    const page = await this.records.shownPage(DELEGATION, shownMembers(DelegationResponse), request);
    return list.answerShown(page, DelegationResponse.from);
  }

  @Get(':delegationId')
  @RequiresScope('read', 'review')
  @ApiRoute(
    'Read a delegation',
    'Who may review in whose place, and until when. For callers with `read`, and for the person who made it. Requires a delegation.',
  )
  @ApiDelegator()
  @ApiRecordId(DELEGATION, { parameter: 'delegationId' })
  @Answers({ type: DelegationResponse, description: 'The delegation.' })
  @ApiErrors('CONFLICT')
  async get(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Param('delegationId') delegationId: string,
  ): Promise<DelegationResponse> {
    return DelegationResponse.from(await this.delegations.get(caller, id, delegationId));
  }

  @Post(':delegationId/end')
  @RequiresScope('review', 'admin')
  @ApiRoute(
    'End a delegation',
    'For the person who made it, and `admin`. Reviews that were made by it go on counting. One that is over stays as it is. ' +
      'Requires a delegation.',
  )
  @ApiDelegator()
  @ApiRecordId(DELEGATION, { parameter: 'delegationId' })
  @Answers({ type: DelegationResponse, description: 'The delegation, which is over.' })
  @ApiErrors('CONFLICT')
  async end(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Param('delegationId') delegationId: string,
  ): Promise<DelegationResponse> {
    return DelegationResponse.from(await this.delegations.end(caller, id, delegationId));
  }
}
