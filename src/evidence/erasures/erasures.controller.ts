import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Answers, ApiRoute, shownMembers } from '../../http/openapi/response-members';
import type { Response } from 'express';
import { requireFound } from '../../core/errors/domain-error';
import { ClientSignal } from '../../http/responses/response-end';
import { ApiList } from '../../http/lists/api-list.decorator';
import { ListQuery } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { ApiRecordId } from '../../http/openapi/documentation.decorators';
import { Caller } from '../../http/input/caller.decorator';
import { NeedsSecondPerson, RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { RecordReader } from '../../ledger/reading/record-reader';
import { CreateErasureRequest, ErasureResponse } from './dto/erasure.dto';
import { ERASURE, type ErasureSubject } from './erasure.entity';
import { type ErasureAnswer, ErasuresService } from './erasures.service';

@ApiTags('Erasures')
@RequiresScope('audit')
@SetRouteMetadata({ refusesRepeatedNames: true })
@Controller('erasures')
export class ErasuresController {
  constructor(
    private readonly erasures: ErasuresService,
    private readonly records: RecordReader,
    private readonly lists: Lists,
  ) {}

  @Post()
  @RequiresScope('admin')
  @NeedsSecondPerson({
    summary: (_input, { erasure }: ErasureAnswer) => `Erase the contents of ${subjectWords(erasure.subjects)}`,
  })
  @ApiRoute(
    'Erase what records contain',
    'The contents of the records are erased at once, and those of older entries about them soon after. What remains ' +
      'is who did what to which record and when, and every hash: the chain and every proof ever given still verify. ' +
      '`completedAt` says when everything was erased. Requires that the last entry about each record is older than ' +
      '`RETAIN_AT_LEAST`: a day, unless that is set.',
  )
  @ApiCreatedResponse({ type: ErasureResponse, description: 'The erasure, which has begun.' })
  @ApiOkResponse({
    type: ErasureResponse,
    description: 'Nothing was left to erase: the newest erasure that erased one of these records.',
  })
  async create(
    @Caller() caller: Caller,
    @Body() body: CreateErasureRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ErasureResponse> {
    const { subjects, reason } = body;
    const references = subjects.map(({ type, id }) => ({ type, id }));
    const { erasure, isNew } = await this.erasures.erase(caller, { subjects: references, reason });
    if (!isNew) response.status(200);
    return ErasureResponse.from(erasure);
  }

  @Get()
  @ApiRoute('List erasures', 'Includes erasures that are not complete yet.')
  @ApiList(ErasureResponse, 'Erasures in order of creation.')
  async list(@ClientSignal() signal: AbortSignal, @Query() query: ListQuery): Promise<ListAnswer<ErasureResponse>> {
    const list = await this.lists.open('erasures', query, { limit: 50, order: 'asc' }, signal);
    const page = await this.records.shownPage(ERASURE, shownMembers(ErasureResponse), list.request([]));
    return list.answerShown(page, ErasureResponse.from);
  }

  @Get(':id')
  @ApiRoute('Read an erasure', 'Says whether everything is erased, and how much that was. Requires an erasure.')
  @ApiRecordId(ERASURE)
  @Answers({ type: ErasureResponse, description: 'The erasure.' })
  async get(@Param('id') id: string): Promise<ErasureResponse> {
    return ErasureResponse.from(requireFound(await this.records.find(ERASURE, id), 'erasure'));
  }
}

const MAX_NAMED = 5;

function subjectWords(subjects: readonly ErasureSubject[]): string {
  const words = subjects.slice(0, MAX_NAMED).map(({ type, id }) => `the ${type} ${id}`);
  const more = subjects.length - words.length;
  return `${words.join(', ')}${more > 0 ? ` and ${more} more records` : ''}`;
}
