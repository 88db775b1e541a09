import { Body, Controller, Get, Param, Post, Query, Res, StreamableFile } from '@nestjs/common';
import type { Response } from 'express';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { withAgentId } from '../../governance/agents/find-agent';
import { checkpointVerdict, readCheckpoint } from '../checkpoints/checkpoint';
import { LogSigner } from '../checkpoints/log-signer';
import { requireFound } from '../../core/errors/domain-error';
import { RequiresScope, SetRouteMetadata } from '../../http/request/routes';
import { Caller } from '../../http/input/caller.decorator';
import { ClientSignal } from '../../http/responses/response-end';
import { ApiNdjson, NDJSON, streamedFile } from '../../http/responses/streamed-responses';
import { ApiList } from '../../http/lists/api-list.decorator';
import { conditionsOf } from '../../http/lists/list.query';
import { type ListAnswer, Lists } from '../../http/lists/lists';
import { ApiSequence, sequenceOf } from '../checkpoints/sequence-parameter';
import { EntryReader } from '../../ledger/reading/entry-reader';
import { RecordReader } from '../../ledger/reading/record-reader';
import { ENTRY_FILTERS } from '../audit/dto/audit-list.query';
import { ChainExport } from './chain-export';
import { ChainVerifier } from '../verification/chain-verifier';
import {
  EXPORT_LINE,
  ExportQuery,
  ProvenanceEntryResponse,
  ProvenanceListQuery,
  ProvenanceProofResponse,
  VerifyChainRequest,
} from './dto/provenance.dto';
import { VerificationResponse } from './dto/verification.response';
import { StateVerifier } from '../verification/state-verifier';

/** The provenance view of the ledger's entries: the chain that seals them. */
@ApiTags('Provenance')
@RequiresScope('audit')
@Controller('provenance')
export class ProvenanceController {
  constructor(
    private readonly entries: EntryReader,
    private readonly verifier: ChainVerifier,
    private readonly states: StateVerifier,
    private readonly exports: ChainExport,
    private readonly lists: Lists,
    private readonly records: RecordReader,
    private readonly signer: LogSigner,
  ) {}

  @Get()
  @ApiRoute('List the chain', 'An entry of the chain seals an entry of the audit trail and the state it left behind.')
  @ApiList(ProvenanceEntryResponse, 'Entries, oldest first by default.')
  async list(
    @ClientSignal() signal: AbortSignal,
    @Query() query: ProvenanceListQuery,
  ): Promise<ListAnswer<ProvenanceEntryResponse>> {
    const list = await this.lists.open('provenance', query, { limit: 100, order: 'asc' }, signal);
    const filters = await withAgentId(this.records, list.filters, 'agentId');
    const request = list.request(conditionsOf(filters, ENTRY_FILTERS));
    return list.answerShown(
      await this.entries.shownPage(ProvenanceEntryResponse.members, request),
      ProvenanceEntryResponse.from,
    );
  }

  @Post('verify')
  @SetRouteMetadata({ ignoresIdempotencyKey: true })
  @ApiRoute(
    'Verify the chain',
    'Recomputes every hash and link, of the whole chain or from a sequence on, up to the head at the start. Calls ' +
      'that arrive meanwhile share the next run. With `state` the records themselves are checked against the chain, too. With a ' +
      'checkpoint it also says whether the log extends it: whether history was cut, forked or rewritten since, even where ' +
      'the chain and its head are sound.',
  )
  @ApiBody({ type: VerifyChainRequest, required: false })
  @Answers({ type: VerificationResponse, description: 'What was found; 200 also for a chain that is not valid.' })
  async verify(
    @Body() { from, state, checkpoint: text }: VerifyChainRequest,
    @ClientSignal() signal: AbortSignal,
  ): Promise<VerificationResponse> {
    const checkpoint = text === undefined ? null : readCheckpoint(text);
    const chain = await this.verifier.verify({
      from,
      sizes: checkpoint === null ? [] : [checkpoint.size],
      signal,
    });
    return VerificationResponse.from(
      chain,
      state === true ? await this.states.verify(signal) : null,
      checkpoint === null ? null : checkpointVerdict(checkpoint, chain.roots, this.signer.verifierKeys),
    );
  }

  @Get('export')
  @ApiRoute(
    'Export the chain',
    'A line of JSON for each entry, as `GET /provenance/{sequence}` answers it, up to the head found at the start, and a ' +
      'last one with the `end`. If it cannot be sent in full, the connection is reset; an export with its `end` is complete.',
  )
  @ApiNdjson(EXPORT_LINE, {
    'X-Head-Sequence': { schema: { type: 'integer' }, description: 'Sequence of the head: of the last entry.' },
    'X-Head-Hash': { schema: { type: 'string' }, description: 'Hash of the head.' },
  })
  async export(
    @Caller() { ip: address }: Caller,
    @Query() { after = 0 }: ExportQuery,
    @ClientSignal() signal: AbortSignal,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StreamableFile> {
    const { head, stream } = await this.exports.open(after, { address, signal });
    response.setHeader('X-Head-Sequence', head.sequence);
    response.setHeader('X-Head-Hash', head.hash);
    return streamedFile(stream, response, { type: NDJSON });
  }

  @Get(':sequence')
  @ApiRoute(
    'Read an entry with its audit entry and the state it sealed',
    'Everything its hashes are computed from, so that anyone can recompute them.',
  )
  @ApiSequence()
  @Answers({
    type: ProvenanceProofResponse,
    description: 'Everything the hashes of the entry were computed from.',
  })
  async get(@Param('sequence') sequence: string): Promise<ProvenanceProofResponse> {
    const entry = requireFound(await this.entries.find(sequenceOf(sequence)), 'provenance entry');
    return ProvenanceProofResponse.fromEntry(entry);
  }
}
