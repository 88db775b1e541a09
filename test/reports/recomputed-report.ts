/** The report as a stranger computes it from an export: in one go, with nothing of the service's. */
export function recomputedReport(exported: string, size: number, { from, to, bucket }: ReportQuery): object {
  const entries = exported
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry)
    .filter(({ sequence }) => sequence !== undefined && sequence <= size);
  const states = new Map<string, State>();
  const types = new Map<string, string>();
  for (const { subjectType, subjectId, state } of entries) {
    types.set(subjectId, subjectType);
    if (state !== null) states.set(subjectId, state);
  }
  const all = (type: string): State[] => [...states].flatMap(([id, state]) => (types.get(id) === type ? state : []));
  const created = (type: string): State[] => all(type).filter(({ createdAt }) => createdAt >= from && createdAt < to);
  const names = new Map(all('agent').map(({ id, name }) => [id, name]));
  const teams = new Map(all('agent').map(({ id, team }) => [id, team]));
  const executions = created('execution');
  const denied = executions.filter(({ outcome }) => outcome === 'denied');
  const answerOf = ({ outcome, decisionId }: State): string =>
    outcome === 'denied' ? 'denied' : decisionId === null ? 'allowed' : 'approval_requested';
  const having = (list: readonly State[], answer: string): number =>
    list.filter((each) => answerOf(each) === answer).length;
  const became = (list: readonly State[], outcome: string): number =>
    list.filter((each) => each.outcome === outcome).length;

  const requests = startsOf({ from, to, bucket }).map((start, index, starts) => {
    const end = starts[index + 1] ?? '9999';
    const inside = executions.filter(({ createdAt }) => createdAt >= start && createdAt < end);
    return {
      start,
      allowed: having(inside, 'allowed'),
      denied: having(inside, 'denied'),
      approval_requested: having(inside, 'approval_requested'),
      executed: became(inside, 'executed'),
      failed: became(inside, 'failed'),
      observed: inside.filter(({ observed }) => observed === true).length,
    };
  });
  const decisions = created('decision');
  const settled = decisions
    .filter(({ status }) => status === 'approved' || status === 'rejected')
    .map(({ createdAt, resolvedAt }) => Date.parse(resolvedAt ?? '') - Date.parse(createdAt))
    .sort((left, right) => left - right);
  const rank = (share: number): number | null =>
    settled.length === 0 ? null : (settled[Math.ceil(settled.length * share) - 1] ?? 0) / 1000;
  const verdicts = decisions.flatMap(({ createdAt, reviews }) =>
    reviews.map((review) => ({
      ...review,
      isQuick: Date.parse(review.createdAt) - Date.parse(createdAt) <= 10_000,
    })),
  );
  const ended = (status: string): number => decisions.filter((each) => each.status === status).length;
  const deciding = executions.flatMap(({ policies }) => policies.map(({ id, name, version }) => [id, name, version]));
  const changes = decisions.filter(({ type, change }) => type === 'change' && change !== undefined);
  const emergencies = decisions.filter(({ type, change }) => type === 'change_review' && change !== undefined);
  const decidingIds = new Set(deciding.map(([id]) => id));
  return {
    from,
    to,
    requests,
    reasons: counted(denied.map(({ reason }) => reason)).map(([reason, count]) => ({ reason, count })),
    agents: counted(executions.map(({ agentId }) => agentId)).map(([agentId]) => {
      const own = executions.filter((each) => each.agentId === agentId);
      const [allowed, refused] = [having(own, 'allowed'), having(own, 'denied')];
      return {
        ...{ agentId, name: names.get(agentId), team: teams.get(agentId) ?? null, allowed, denied: refused },
        approvals: having(own, 'approval_requested'),
      };
    }),
    approvals: {
      proposed: decisions.length,
      approved: ended('approved'),
      rejected: ended('rejected'),
      expired: ended('expired'),
      cancelled: ended('cancelled'),
      medianSeconds: rank(0.5),
      p95Seconds: rank(0.95),
      withinTenSeconds: settled.filter((milliseconds) => milliseconds <= 10_000).length,
      byReviewer: counted(verdicts.map(({ approverId }) => approverId)).map(([agentId]) => {
        const own = verdicts.filter(({ approverId }) => approverId === agentId);
        return {
          ...{ agentId, name: agentId === null ? null : names.get(agentId) },
          approved: own.filter(({ verdict }) => verdict === 'approve').length,
          rejected: own.filter(({ verdict }) => verdict === 'reject').length,
          withinTenSeconds: own.filter(({ isQuick }) => isQuick).length,
        };
      }),
    },
    changes: {
      proposed: changes.length,
      approved: changes.filter(({ status }) => status === 'approved').length,
      rejected: changes.filter(({ status }) => status === 'rejected').length,
      made: changes.filter(({ change }) => change?.madeAt !== undefined).length,
      breakGlass: emergencies.length,
      unreviewed: emergencies.filter(({ status }) => status === 'proposed').length,
    },
    policies: counted(deciding.map((policy) => JSON.stringify(policy))).map(([policy, decided]) => {
      const [id, name, version] = JSON.parse(policy) as string[];
      return { policy: { id, name, version }, decided };
    }),
    unused: all('policy')
      .filter(({ id, status }) => status === 'active' && !decidingIds.has(id))
      .map(({ id, name, version }) => ({ id, name, version })),
    grants: {
      minted: created('grant').length,
      used: executions.filter(({ grantId }) => typeof grantId === 'string').length,
    },
    stops: created('stop').length,
    erasures: created('erasure').length,
  };
}

/** Buckets in UTC, by the calendar. */
function startsOf({ from, to, bucket }: ReportQuery): string[] {
  const start = new Date(from);
  start.setUTCMinutes(0, 0, 0);
  if (bucket !== 'hour') start.setUTCHours(0);
  if (bucket === 'week') while (start.getUTCDay() !== 1) start.setUTCDate(start.getUTCDate() - 1);
  const starts: string[] = [];
  while (start.toISOString() < to) {
    starts.push(start.toISOString());
    if (bucket === 'hour') start.setUTCHours(start.getUTCHours() + 1);
    else start.setUTCDate(start.getUTCDate() + (bucket === 'week' ? 7 : 1));
  }
  return starts;
}

/** Counts the values, the most frequent first, and equal counts in the order of the values. */
function counted<Value extends string | null>(values: readonly Value[]): [Value, number][] {
  const counts = new Map<Value, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([left, few], [right, many]) => many - few || ((left ?? '') < (right ?? '') ? -1 : 1));
}

export interface ReportQuery {
  readonly from: string;
  readonly to: string;
  readonly bucket: string;
}

interface Entry {
  readonly sequence?: number;
  readonly subjectType: string;
  readonly subjectId: string;
  readonly state: State | null;
}

/** The members of all kinds of records that count. */
interface State {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly status: string;
  readonly createdAt: string;
  readonly resolvedAt: string | null;
  readonly agentId: string;
  readonly outcome: string;
  readonly reason: string;
  readonly decisionId: string | null;
  readonly type?: string;
  readonly change?: { readonly madeAt?: string };
  readonly observed?: boolean;
  readonly team?: string | null;
  readonly grantId?: string | null;
  readonly policies: readonly { readonly id: string; readonly name: string; readonly version: string }[];
  readonly reviews: readonly {
    readonly approverId: string | null;
    readonly verdict: string;
    readonly createdAt: string;
  }[];
}
