import { AsOfQuery } from '../as-of/as-of.query';
import { WholeRequest } from '../validation/dto-shape';
import { QueryInteger } from '../validation/query-fields';

@WholeRequest(({ wait, asOf }) =>
  wait === undefined || asOf === undefined
    ? []
    : [{ field: 'query.asOf', message: 'cannot be combined with wait: the past does not change' }],
)
export class WaitQuery extends AsOfQuery {
  @QueryInteger({
    min: 1,
    max: 60,
    description: 'Answers as soon as there is nothing left to wait for, or after this many seconds.',
  })
  readonly wait?: number;
}
