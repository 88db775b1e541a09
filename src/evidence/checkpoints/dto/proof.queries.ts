import { QueryInteger } from '../../../http/validation/query-fields';

export class InclusionProofQuery {
  @QueryInteger({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Number of entries of the tree, such as that of a checkpoint. Default: the current one.',
  })
  readonly size?: number;
}

export class ConsistencyProofQuery {
  @QueryInteger({
    required: true,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Number of entries of the earlier tree, such as that of a kept checkpoint.',
    example: 1,
  })
  readonly from!: number;

  @QueryInteger({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Number of entries of the later tree. Default: the current one.',
  })
  readonly to?: number;
}
