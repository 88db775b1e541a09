import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { notFound } from '../errors/domain-error';
import { ApiErrors } from '../http/errors/api-errors.decorator';
import { ApiList } from '../http/lists/api-list.decorator';
import { conditionsOf } from '../http/lists/conditions';
import { Lists } from '../http/lists/lists';
import type { ListAnswer } from '../http/lists/open-list';
import { EntryReader } from '../ledger/entry-reader';
import { ChainVerifier } from './chain-verifier';
import { ProvenanceEntryResponse, ProvenanceProofResponse } from './dto/provenance-entry.response';
import { ProvenanceListQuery } from './dto/provenance-list.query';
import { VerifyChainRequest } from './dto/verify-chain.request';
import { VerificationResponse } from './dto/verification.response';

const SEQUENCE = /^[1-9]\d{0,15}$/;

/** The provenance view of the ledger's entries: the chain that seals them. */
@ApiTags('Provenance')
@Controller('provenance')
export class ProvenanceController {
  constructor(
    private readonly entries: EntryReader,
    private readonly verifier: ChainVerifier,
    private readonly lists: Lists,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List the chain' })
  @ApiList(ProvenanceEntryResponse, 'Entries, oldest first unless asked otherwise.')
  async list(@Query() query: ProvenanceListQuery): Promise<ListAnswer<ProvenanceEntryResponse>> {
    const list = this.lists.open('provenance', query, { limit: 100, order: 'asc' });
    const conditions = conditionsOf(list.filters, {
      entityId: ['entityId', 'equals'],
      agentId: ['agentId', 'equals'],
      subjectId: ['subjectId', 'equals'],
      action: ['action', 'equals'],
      from: ['timestamp', 'atLeast'],
      to: ['timestamp', 'atMost'],
      after: ['sequence', 'after'],
    });
    return list.answer(await this.entries.page(list.request(conditions)), ProvenanceEntryResponse.from);
  }

  @Post('verify')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Verify the chain',
    description:
      'Recomputes every hash and link, of the whole chain or from a sequence on, up to the head found at the start. Calls ' +
      'that arrive meanwhile share the next run.',
  })
  @ApiBody({ type: VerifyChainRequest, required: false })
  @ApiOkResponse({ type: VerificationResponse, description: 'What was found; 200 also for a chain that is not valid.' })
  async verify(@Body() { from }: VerifyChainRequest): Promise<VerificationResponse> {
    return VerificationResponse.from(await this.verifier.verify(from));
  }

  @Get(':sequence')
  @ApiOperation({ summary: 'Read an entry with its audit entry and the state it sealed' })
  @ApiParam({
    name: 'sequence',
    schema: { type: 'integer', minimum: 1, example: 1 },
    description: 'Place in the chain.',
  })
  @ApiOkResponse({ type: ProvenanceProofResponse, description: 'Everything the hashes of the entry were made of.' })
  @ApiErrors('NOT_FOUND')
  async get(@Param('sequence') sequence: string): Promise<ProvenanceProofResponse> {
    const entry = SEQUENCE.test(sequence) ? await this.entries.find(Number(sequence)) : undefined;
    if (entry === undefined) throw notFound('provenance entry');
    return ProvenanceProofResponse.of(entry);
  }
}
