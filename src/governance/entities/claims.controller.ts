import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import { Answers, AnswersNothing, ApiRoute } from '../../http/openapi/answer-members';
import { ApiExamples, ApiRecordId } from '../../http/openapi/documentation.decorators';
import { RequiresScope } from '../../http/request/routes';
import { Caller } from '../../http/input/caller.decorator';
import { ClientLeft } from '../../http/answers/answer-end';
import { ApiList } from '../../http/lists/api-list.decorator';
import { equalities } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { ClaimListQuery, ClaimResponse, CreateClaimRequest } from './dto/entity.dto';
import { ClaimsService } from './claims.service';
import { ENTITY } from './governed-entity.entity';
import { CLAIM } from './claim.entity';

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
    @ClientLeft() leaving: AbortSignal,
    @Param('id') id: string,
    @Query() query: ClaimListQuery,
  ): Promise<ListAnswer<ClaimResponse>> {
    const list = await this.lists.open(`entities/${id}/claims`, query, { limit: 50, order: 'asc' }, leaving);
    const request = list.request(equalities({ entityId: id, ...list.filters }));
    return list.answer(await this.claims.list(id, request), ClaimResponse.from);
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
