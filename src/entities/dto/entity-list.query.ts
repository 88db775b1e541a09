import { ListQuery } from '../../http/lists/list.query';
import { QueryText } from '../../http/validation/query-fields';

export class EntityListQuery extends ListQuery {
  @QueryText({ max: 100, description: 'Only entities of this type.' })
  readonly type?: string;

  @QueryText({ max: 255, description: 'Only entities of this name, exactly; several may have it.' })
  readonly name?: string;
}
