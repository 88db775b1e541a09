import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Answers, ApiRoute } from '../../http/openapi/response-members';
import { RequiresScope } from '../../http/request/routes';
import { ApiSequence, sequenceOf } from './sequence-parameter';
import { Checkpoints } from './checkpoints.service';
import { CheckpointResponse, ConsistencyProofResponse, InclusionProofResponse } from './dto/checkpoint.responses';
import { ConsistencyProofQuery, InclusionProofQuery } from './dto/proof.queries';
import { LogSigner } from './log-signer';
import { TreeProofs } from './tree-proofs';

/** Lets outsiders check the log against its own earlier statements. */
@ApiTags('Provenance')
@RequiresScope('audit')
@Controller('provenance')
export class CheckpointsController {
  constructor(
    private readonly checkpoints: Checkpoints,
    private readonly signer: LogSigner,
    private readonly proofs: TreeProofs,
  ) {}

  @Get('checkpoint')
  @ApiRoute(
    'Sign a checkpoint of the log',
    'The number of entries and the root of the Merkle tree over them, signed. Keep it outside the service: verify can then ' +
      'check at any later time that the log still extends it. None is signed that contradicts an earlier one.',
  )
  @Answers({ type: CheckpointResponse, description: 'A checkpoint of the current log.' })
  async sign(): Promise<CheckpointResponse> {
    return CheckpointResponse.from(await this.checkpoints.issue(), this.signer.publicKey);
  }

  @Get('consistency')
  @ApiRoute(
    'Prove that the log extends an earlier state',
    'Proves that between two sizes none of the earlier entries was changed, removed or moved.',
  )
  @Answers({ type: ConsistencyProofResponse, description: 'The proof and both roots.' })
  async proveConsistency(@Query() { from, to }: ConsistencyProofQuery): Promise<ConsistencyProofResponse> {
    return ConsistencyProofResponse.from(await this.proofs.consistency(from, to));
  }

  @Get(':sequence/proof')
  @ApiRoute(
    'Prove that an entry is in the log',
    'Returns the hashes that lead from the entry to the root of the tree, such as the root of a checkpoint.',
  )
  @ApiSequence()
  @Answers({ type: InclusionProofResponse, description: 'The path from the entry to the root.' })
  async proveInclusion(
    @Param('sequence') text: string,
    @Query() { size }: InclusionProofQuery,
  ): Promise<InclusionProofResponse> {
    const sequence = sequenceOf(text);
    return InclusionProofResponse.from(sequence, await this.proofs.inclusion(sequence, size));
  }
}
