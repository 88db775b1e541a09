import { QueryInteger } from '../../http/validation/query-fields';

/** Approvers change with every agent and policy, so their list has no cursor. */
export class ApproverListQuery {
  @QueryInteger({ min: 1, max: 1000, description: 'Maximum number of rows. Default: 50.' })
  readonly limit?: number;

  @QueryInteger({ min: 0, max: 2 ** 31 - 1, description: 'Rows to skip.' })
  readonly offset?: number;
}
