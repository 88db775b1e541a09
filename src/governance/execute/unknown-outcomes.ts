import { Injectable } from '@nestjs/common';
import { type DomainError, permissionDenied } from '../../core/errors/domain-error';
import { addDuration } from '../../core/values/duration';
import { HeaderParameter } from '../../http/request/routes';
import { Database } from '../../ledger/database/database';
import type { Dialect } from '../../ledger/database/dialect';
import type { ServiceTransaction } from '../../ledger/commands/ledger-transaction';
import type { RowQuery } from '../../ledger/records/row-query';
import { type DecisionBasis, EXECUTION } from '../executions/execution.entity';
import { IS_UNKNOWN, OUTCOME_UNKNOWN } from '../executions/unknown-outcome';

/** Time after an unknown outcome in which the same action is refused. */
const REFUSED_FOR = 'PT10M';

/** Members of a gateway's request that decide whether it repeats an action. */
interface Repetition {
  readonly via?: string | null | undefined;
  /** The execution with an unknown outcome that the caller repeats knowingly. */
  readonly repeats?: string | null | undefined;
}

/** Consequence of an unknown outcome for a request with the same action. */
interface UnknownOutcome {
  /** Execution with the unknown outcome. */
  readonly executionId: string;
  /** Refusal; null if the caller knowingly repeats the action. */
  readonly refusal: DomainError | null;
}

interface UnknownRow {
  readonly id: string;
  readonly completedAt: string;
}

/** Finds unknown outcomes. For ten minutes, a gateway's request for the same action must name the execution. */
@Injectable()
export class UnknownOutcomes {
  private readonly sql: string;

  constructor({ dialect }: Database) {
    this.sql = newestUnknownSql(dialect);
  }

  /** Returns the query for the newest unknown outcome of the action, on which a gateway's request depends. */
  rowQuery(actionHash: string): RowQuery {
    const values = { actionHash, reason: OUTCOME_UNKNOWN };
    return {
      name: 'unknown outcome',
      sql: this.sql,
      key: [actionHash],
      dependsOn: [{ kind: EXECUTION, values }],
    };
  }

  /**
   * Returns the unknown outcome that a request would repeat; null if the request comes from no gateway, or there is
   * none.
   */
  async repeatedBy(
    { via = null, repeats }: Repetition,
    actionHash: string | null,
    transaction: Pick<ServiceTransaction, 'runQueries' | 'now'>,
  ): Promise<UnknownOutcome | null> {
    if (via === null || actionHash === null) return null;
    const [[unknown] = []] = await transaction.runQueries<UnknownRow>([this.rowQuery(actionHash)]);
    if (unknown === undefined) return null;
    const end = addDuration(REFUSED_FOR, unknown.completedAt);
    if (end <= transaction.now) return null;
    const executionId = unknown.id;
    return { executionId, refusal: repeats === executionId ? null : unknownOutcome(executionId, end) };
  }
}

/** Adds the repeated outcome to the basis of a decision. A refused request takes nothing from limits. */
export function repeatingBasis(basis: DecisionBasis, unknown: UnknownOutcome | null): DecisionBasis {
  if (unknown === null) return basis;
  const { used = [], ...rest } = basis;
  const isTaken = unknown.refusal === null && used.length > 0;
  return { ...rest, ...(isTaken && { used }), repeats: unknown.executionId };
}

function unknownOutcome(executionId: string, end: string): DomainError {
  return permissionDenied(
    OUTCOME_UNKNOWN,
    `Whether the same action took effect before is not known: it was sent as ${executionId}, and no answer came. Find out first. ` +
      `To send it again, repeat the request with the header Governance-Repeat: ${executionId}, or wait until ${end}.`,
  );
}

function newestUnknownSql(dialect: Dialect): string {
  const place = dialect.jsonAt(0, { name: 'place', type: 'integer' });
  const actionHash = dialect.jsonAt(1, { name: 'actionHash', type: 'text' });
  const newest =
    `(SELECT "id" FROM "executions" WHERE "actionHash" = ${actionHash} AND ${IS_UNKNOWN} ` +
    `ORDER BY "completedAt" DESC LIMIT 1)`;
  return (
    `SELECT requested."place", newest."id", newest."completedAt" FROM ` +
    `(SELECT ${place} AS "place", ${newest} AS "id" FROM ${dialect.jsonElements('$1')}) AS requested ` +
    `JOIN "executions" AS newest ON newest."id" = requested."id"`
  );
}

const EXECUTION_ID = /^exe_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Reads the header with which a caller repeats an action whose outcome is unknown; null without it. */
export function GovernanceRepeat(): ParameterDecorator {
  return HeaderParameter({
    name: 'Governance-Repeat',
    description:
      'With `via`: the execution with the reason `outcome_unknown` whose action is requested again, although it may have taken effect.',
    expected: 'must be the id of an execution, such as exe_01M7W000000000000000000048',
    read: (header) => (header === undefined ? null : EXECUTION_ID.test(header) ? header : undefined),
  });
}
