import { ListQuery } from '../../http/lists/list.query';
import { QueryText } from '../../http/validation/query-fields';

export class ClaimListQuery extends ListQuery {
  @QueryText({ max: 255, description: 'Only claims of this predicate.' })
  readonly predicate?: string;
}
