import { ListQuery } from '../../http/lists/list.query';
import { QueryOneOf, QueryText } from '../../http/validation/query-fields';
import { POLICY_EFFECTS } from '../evaluation/policy-effect';
import type { PolicyEffect } from '../evaluation/policy-effect';
import { POLICY_STATUSES } from '../policy.entity';
import type { PolicyStatus } from '../policy.entity';

export class PolicyListQuery extends ListQuery {
  @QueryText({ max: 200, description: 'Only versions of this policy.' })
  readonly name?: string;

  @QueryOneOf(POLICY_STATUSES, { enumName: 'PolicyStatus', description: 'Only policies of this status.' })
  readonly status?: PolicyStatus;

  @QueryOneOf(POLICY_EFFECTS, { enumName: 'PolicyEffect', description: 'Only policies of this effect.' })
  readonly effect?: PolicyEffect;
}
