import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import { Answers, AnswersNothing, ApiRoute, shownMembers } from '../../http/openapi/response-members';
import { ApiExamples, ApiRecordId } from '../../http/openapi/documentation.decorators';
import { requireFound, invalidField } from '../../core/errors/domain-error';
import { ApiErrors, RequiresScope, Revisioned } from '../../http/request/routes';
import { Caller } from '../../http/input/caller.decorator';
import { IfMatch, type Precondition } from '../../http/request/precondition';
import { AsOfQuery } from '../../http/reading/as-of.query';
import { ClientSignal } from '../../http/responses/response-end';
import { ApiList } from '../../http/lists/api-list.decorator';
import { equalityConditions } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { RecordHistory } from '../../ledger/record-history';
import { RecordReader } from '../../ledger/reading/record-reader';
import { CLAIM } from './claim.entity';
import {
  ClaimListQuery,
  ClaimResponse,
  CreateClaimRequest,
  CreateEntityRequest,
  EntityListQuery,
  EntityResponse,
  UpdateEntityRequest,
} from './dto/entity.dto';
import { ClaimsService, EntitiesService } from './entities.service';
import { ENTITY } from './governed-entity.entity';

@ApiTags('Entities')
@Controller('entities')
export class EntitiesController {
  constructor(
    private readonly entities: EntitiesService,
    private readonly lists: Lists,
    private readonly records: RecordReader,
    private readonly history: RecordHistory,
  ) {}

  @Get()
  @RequiresScope('read')
  @ApiRoute('List entities', 'Oldest first, a page at a time; filtered by type and by name.')
  @ApiList(EntityResponse, 'Entities in order of creation.')
  async list(
    @ClientSignal() signal: AbortSignal,
    @Query() query: EntityListQuery,
  ): Promise<ListAnswer<EntityResponse>> {
    const list = await this.lists.open('entities', query, { limit: 50, order: 'asc' }, signal);
    const request = list.request(equalityConditions(list.filters));
    const page = await this.records.shownPage(ENTITY, shownMembers(EntityResponse), request);
    return list.answerShown(page, EntityResponse.from);
  }

  @Post()
  @RequiresScope('entities')
  @Revisioned()
  @ApiRoute(
    'Create an entity',
    'What agents work with: a customer, a service, a document. Its `properties` are free-form and are returned as they were sent.',
  )
  @ApiExamples({ 'one to keep': {}, 'one to delete': { name: 'Fax gateway', properties: { owner: 'team-payments' } } })
  @ApiCreatedResponse({ type: EntityResponse, description: 'The created entity.' })
  async create(@Caller() caller: Caller, @Body() body: CreateEntityRequest): Promise<EntityResponse> {
    return EntityResponse.from(await this.entities.create(caller, body));
  }

  @Get(':id')
  @RequiresScope('read')
  @Revisioned()
  @ApiRoute('Read an entity', 'Its `ETag` names its revision, for changes with `If-Match`.')
  @ApiRecordId(ENTITY)
  @Answers({ type: EntityResponse, description: 'The entity.' })
  @ApiErrors('CONTENT_ERASED')
  async get(@Param('id') id: string, @Query() { asOf }: AsOfQuery): Promise<EntityResponse> {
    return EntityResponse.from(requireFound(await this.history.find(ENTITY, id, asOf), 'entity'));
  }

  @Put(':id')
  @RequiresScope('entities')
  @Revisioned()
  @ApiRoute(
    'Update an entity',
    'Absent members stay as they are; `properties` is replaced as a whole. An answer can be edited and sent back. An update that changes ' +
      'nothing does not create an audit entry.',
  )
  @ApiRecordId(ENTITY)
  @Answers({ type: EntityResponse, description: 'The updated entity.' })
  async update(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @IfMatch() precondition: Precondition,
    @Body() body: UpdateEntityRequest,
  ): Promise<EntityResponse> {
    if (body.id !== undefined && body.id !== id) throw invalidField('id', `must equal the id in the path, ${id}`);
    return EntityResponse.from(await this.entities.update(caller, id, precondition, body));
  }

  @Delete(':id')
  @RequiresScope('entities')
  @ApiRoute('Delete an entity and its claims', 'Its history stays: entries about it can still be read and verified.')
  @ApiRecordId(ENTITY, { sample: 2 })
  @AnswersNothing('Deleted; its history stays.')
  remove(@Caller() caller: Caller, @Param('id') id: string, @IfMatch() precondition: Precondition): Promise<void> {
    return this.entities.remove(caller, id, precondition);
  }
}

@ApiTags('Entities')
@Controller('entities/:id/claims')
export class ClaimsController {
  constructor(
    private readonly claims: ClaimsService,
    private readonly lists: Lists,
  ) {}

  @Get()
  @RequiresScope('read')
  @ApiRoute(
    "List an entity's claims",
    'Oldest first; filtered by predicate. Claims that contradict each other are all listed.',
  )
  @ApiRecordId(ENTITY)
  @ApiList(ClaimResponse, 'Claims in order of creation.')
  async list(
    @ClientSignal() signal: AbortSignal,
    @Param('id') id: string,
    @Query() query: ClaimListQuery,
  ): Promise<ListAnswer<ClaimResponse>> {
    const list = await this.lists.open(`entities/${id}/claims`, query, { limit: 50, order: 'asc' }, signal);
    const request = list.request(equalityConditions({ entityId: id, ...list.filters }));
    return list.answerShown(await this.claims.list(id, shownMembers(ClaimResponse), request), ClaimResponse.from);
  }

  @Post()
  @RequiresScope('entities')
  @ApiRoute('Add a claim to an entity', 'Claims may contradict each other; all of them are kept.')
  @ApiRecordId(ENTITY)
  @ApiExamples({
    'one to keep': {},
    'one to remove': { value: 'internal', context: { confidence: 0.4, source: 'questionnaire' } },
  })
  @ApiCreatedResponse({ type: ClaimResponse, description: 'The added claim.' })
  async add(
    @Caller() caller: Caller,
    @Param('id') id: string,
    @Body() body: CreateClaimRequest,
  ): Promise<ClaimResponse> {
    return ClaimResponse.from(await this.claims.add(caller, id, body));
  }

  @Get(':claimId')
  @RequiresScope('read')
  @ApiRoute('Read a claim', 'A statement about the entity, and the context in which it was made.')
  @ApiRecordId(ENTITY)
  @ApiRecordId(CLAIM, { parameter: 'claimId' })
  @Answers({ type: ClaimResponse, description: 'The claim.' })
  async get(@Param('id') id: string, @Param('claimId') claimId: string): Promise<ClaimResponse> {
    return ClaimResponse.from(await this.claims.get(id, claimId));
  }

  @Delete(':claimId')
  @RequiresScope('entities')
  @ApiRoute('Remove a claim', 'Its content stays in the audit trail and the chain.')
  @ApiRecordId(ENTITY)
  @ApiRecordId(CLAIM, { parameter: 'claimId', sample: 2 })
  @AnswersNothing('Removed; its history stays.')
  remove(@Caller() caller: Caller, @Param('id') id: string, @Param('claimId') claimId: string): Promise<void> {
    return this.claims.remove(caller, id, claimId);
  }
}
