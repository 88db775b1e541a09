import { ListQuery } from '../../http/lists/list.query';
import { QueryOneOf, QueryText, QueryTimestamp } from '../../http/validation/query-fields';
import { SEVERITIES, type Severity } from '../incident.entity';

export class IncidentListQuery extends ListQuery {
  @QueryText({ max: 40, description: 'Only incidents with this label.' })
  readonly label?: string;

  @QueryTimestamp({ description: 'Only incidents that were reported then or later.' })
  readonly from?: string;

  @QueryOneOf(SEVERITIES, { enumName: 'IncidentSeverity', description: 'Only incidents of this severity.' })
  readonly severity?: Severity;
}
