import { Injectable } from '@nestjs/common';
import { type Agent, AGENT } from '../agents/agent.entity';
import { MAX_COMPARISONS_OF_QUESTION } from '../policies/evaluation/comparison-bounds';
import { FactReader, gatherFacts } from '../permissions/facts';
import { subjectOf } from '../policies/patterns/subjects';
import { checkPermission, type PermissionResult, requestOf } from '../permissions/permissions';
import { keptPrincipal, personNamedBy, type Principal } from '../permissions/principals';
import { DomainError, requirePresent } from '../../core/errors/domain-error';
import { Configuration } from '../../core/config/configuration';
import { type Execution, EXECUTION } from '../executions/execution.entity';
import type { Caller } from '../../ledger/kinds/caller';
import { RecordHistory } from '../../ledger/record-history';
import { RecordReader } from '../../ledger/reading/record-reader';
import { conditionsOf } from '../../http/lists/list.query';
import type { GovernedRow } from '../../ledger/kinds/record-kind';
import { type FactQueries, PolicyEvaluator } from '../policies/evaluation/policy-evaluator';
import { yieldBetween } from '../../core/concurrency/time-slice';
import type { ReplayPeriod } from './dto/policy-plan.requests';
import type {
  PlannedReferenceResponse,
  PolicyReplayResponse,
  ReplayedExecutionResponse,
} from './dto/policy-plan.response';
import type { PlannedPolicy } from './effects/planned-match';

/** Most executions read at once; fewer if they are large. */
const CHUNK_SIZE = 250;
const REQUEST_COLUMNS = [
  'agentId',
  'action',
  'resourceType',
  'resourceId',
  'parameters',
  'onBehalfOf',
  'run',
  'createdAt',
  'erased',
] as const;
const MAX_EXAMPLES = 100;
/** Most milliseconds of a replay. */
const MAX_REPLAY_MS = 30_000;
/** Most agents with a cached state. */
const MAX_AGENTS = 5_000;

type RecordedRequest = Pick<Execution, (typeof REQUEST_COLUMNS)[number]> & GovernedRow;

interface Compared {
  readonly before: PolicyEvaluator;
  readonly after: PolicyEvaluator;
}

/** Evaluates recorded executions again, with the policies in force and with the planned ones. */
@Injectable()
export class Replays {
  constructor(
    private readonly records: RecordReader,
    private readonly past: RecordHistory,
    private readonly configuration: Configuration,
    private readonly facts: FactReader,
  ) {}

  /**
   * Replays executions, newest first, each for the agent as it was then.
   * @param caller only executions that the caller may read are included
   * @param planned policies in force before and after
   * @param signal aborted when nobody waits for the result any more; its reason is thrown
   */
  async run(
    caller: Caller,
    period: ReplayPeriod,
    planned: readonly PlannedPolicy[],
    signal: AbortSignal,
  ): Promise<PolicyReplayResponse> {
    const { replayLimit } = this.configuration;
    const end = performance.now() + MAX_REPLAY_MS;
    const before = await PolicyEvaluator.build(planned.filter(({ isBefore }) => isBefore));
    const after = await PolicyEvaluator.build(planned.filter(({ isAfter }) => isAfter));
    const created = new Set(planned.flatMap(({ id, isNew }) => (isNew ? id : [])));
    const agents = new AgentsThen(this.past);
    const examples: ReplayedExecutionResponse[] = [];
    let [executions, changed, skipped] = [0, 0, 0];
    const conditions = conditionsOf(period, { from: ['createdAt', 'atLeast'], to: ['createdAt', 'atMost'] });
    const range = { conditions, order: 'desc', position: null, atOnce: CHUNK_SIZE } as const;
    for await (const chunk of this.records.columns(EXECUTION, REQUEST_COLUMNS, range, caller)) {
      signal.throwIfAborted();
      for await (const execution of yieldBetween(chunk)) {
        if (executions >= replayLimit || performance.now() > end)
          return { executions, changed, skipped, cut: true, examples };
        executions += 1;
        const answers = await this.answers(execution, agents, { before, after });
        if (answers === null) {
          skipped += 1;
          continue;
        }
        const { was, now } = answers;
        if (was.effect === now.effect) continue;
        changed += 1;
        if (examples.length >= MAX_EXAMPLES) continue;
        const { id: executionId, createdSequence } = execution;
        const first = await this.past.findAfter(EXECUTION, executionId, createdSequence, caller);
        examples.push({
          executionId,
          recorded: requirePresent(first, `first entry of the execution ${executionId}`).outcome,
          was: was.effect,
          now: now.effect,
          because: { from: references(was, created), to: references(now, created) },
        });
      }
    }
    return { executions, changed, skipped, cut: false, examples };
  }

  /**
   * Returns the answers by the policies before and after; null if an erasure removed something that they depend on, or
   * the request has too long lists for either set.
   */
  private async answers(
    execution: RecordedRequest,
    agents: AgentsThen,
    { before, after }: Compared,
  ): Promise<{ readonly was: PermissionResult; readonly now: PermissionResult } | null> {
    if (execution.erased) return null;
    const agent = await agents.agentAt(execution.agentId, execution);
    const principal = await agents.principalOf(execution);
    const { createdAt: at, createdSequence } = execution;
    const request = requestOf(execution, subjectOf(agent), principal, at);
    const isTooLong = [before, after].some((set) => set.comparisons(request) > MAX_COMPARISONS_OF_QUESTION);
    if (isTooLong) return null;
    const [queriesBefore, queriesAfter] = [before.factQueries(request), after.factQueries(request)];
    const gathering = gatherFacts([queriesBefore, queriesAfter], this.facts.sourceAt(createdSequence - 1));
    const facts = await gathering.catch(unlessErased);
    if (facts === null) return null;
    const { policyDefaultEffect: defaultEffect } = this.configuration;
    const answer = (policies: PolicyEvaluator, queries: FactQueries): PermissionResult =>
      checkPermission({ agent, subject: request.subject }, execution, principal, {
        evaluate: () => policies.evaluate(request, facts, queries),
        defaultEffect,
        at,
        // Only policies are compared, without stops and guards.
        stops: [],
      });
    return { was: answer(before, queriesBefore), now: answer(after, queriesAfter) };
  }
}

/** Past states of agents, read backwards: each state is read only once. */
class AgentsThen {
  private readonly cache = new Map<string, { readonly agent: Agent; readonly since: number }>();

  constructor(private readonly past: RecordHistory) {}

  async principalOf(execution: RecordedRequest): Promise<Principal | null> {
    const { onBehalfOf } = execution;
    if (onBehalfOf === null) return null;
    const personId = personNamedBy(onBehalfOf);
    return keptPrincipal(onBehalfOf, personId === undefined ? undefined : await this.agentAt(personId, execution));
  }

  async agentAt(agentId: string, { createdSequence }: RecordedRequest): Promise<Agent> {
    const cached = this.cache.get(agentId);
    if (cached !== undefined && cached.since <= createdSequence) return cached.agent;
    const pastState = await this.past.stateAt(AGENT, agentId, createdSequence);
    const state = requirePresent(pastState, `agent ${agentId} at the time of its request`);
    if (cached === undefined && this.cache.size >= MAX_AGENTS) this.cache.clear();
    this.cache.set(agentId, { agent: state.record, since: state.since });
    return state.record;
  }
}

function unlessErased(error: unknown): null {
  if (error instanceof DomainError && error.code === 'CONTENT_ERASED') return null;
  throw error;
}

function references({ policies }: PermissionResult, created: ReadonlySet<string>): PlannedReferenceResponse[] {
  return policies.map(({ id, name, version }) => ({ id: created.has(id) ? null : id, name, version }));
}
