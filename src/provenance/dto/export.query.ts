import { QueryInteger } from '../../http/validation/query-fields';

export class ExportQuery {
  @QueryInteger({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    description: 'Only entries with a higher sequence, such as the last one of an export that was cut short.',
  })
  readonly after?: number;
}
