import { Injectable } from '@nestjs/common';
import type { Agent } from '../../agents/agent.entity';
import { findAgent } from '../../agents/find-agent';
import { KnownAgents } from '../../agents/known-agents';
import { Configuration } from '../../../core/config/configuration';
import { notThisAgent } from '../../../core/errors/domain-error';
import { type Caller, SYSTEM_CALLER } from '../../../ledger/caller';
import { LedgerService } from '../../../ledger/ledger.service';
import { RecordReader } from '../../../ledger/reading/record-reader';
import type { Condition, Page, PageRequest } from '../../../ledger/record-page';
import { arraysOfOne } from '../../../ledger/records/statements';
import { onlyAgentSeen } from '../../../ledger/records/visibility';
import { PasskeyHolders } from '../../passkeys/passkey-holders';
import { fillableBy, groupsOf } from '../../policies/approval/approver-groups';
import { Turn } from '../../../core/concurrency/turn';
import { decisionResource, isExpired } from '../decision-rules';
import type { Decision } from '../decision.entity';
import { DECISION } from '../decision.kind';
import { ReviewPolicies } from '../reviewers';
import { inability, type OpenDecision } from './decision-approvers.service';

/** Decisions read at once. */
const CHUNK = 500;
/** What the judgement depends on. */
export const JUDGED = [
  'type',
  'proposedBy',
  'riskLevel',
  'status',
  'reviews',
  'expiresAt',
  'executionId',
  'approvers',
] as const satisfies readonly (keyof OpenDecision)[];
const PROPOSED: Condition = { column: 'status', comparison: 'equals', value: 'proposed' };
/** Whether an agent could approve a decision now. */
type Judge = (decision: OpenDecision) => boolean;
const NOTHING: Page<Decision> = { rows: [], total: 0, more: false };

/** The result of a search: the sequences of the page's rows and of the one after it. */
interface Found {
  readonly places: readonly number[];
  readonly total: number;
}

/**
 * The decisions that one agent could approve now. No index answers that, so proposed decisions are examined one by one, up
 * to the end of the page; for the first page, to the end of the list to count them.
 */
@Injectable()
export class AwaitingDecisions {
  constructor(
    private readonly records: RecordReader,
    private readonly ledger: LedgerService,
    private readonly policies: ReviewPolicies,
    private readonly holders: PasskeyHolders,
    private readonly agents: KnownAgents,
    private readonly configuration: Configuration,
  ) {}

  /** @throws PERMISSION_DENIED when the caller may see nothing of that agent. */
  async page(caller: Caller, idOrName: string, request: PageRequest): Promise<Page<Decision>> {
    const agent = await findAgent(this.records, idOrName);
    requireMayAsk(caller, agent);
    if (agent?.status !== 'active') return NOTHING;
    const { limit, order } = request;
    const { places, total } = await this.search(caller, agent, request);
    const shown = places.slice(0, limit);
    if (shown.length === 0) return { ...NOTHING, total };
    const conditions = [{ column: 'createdSequence', comparison: 'among', value: arraysOfOne(shown) } as const];
    const among = { conditions, limit, offset: 0, order, position: null, total: 0 } as const;
    // The search has already applied the caller's visibility.
    const page = await this.records.page(DECISION, among, SYSTEM_CALLER);
    const totalOf = onlyAgentSeen(DECISION, caller);
    return { rows: page.rows, total, totalOf, more: page.more || places.length > limit };
  }

  private async search(caller: Caller, agent: Agent, request: PageRequest): Promise<Found> {
    const { limit, order, position } = request;
    // A total found for a caller who sees other decisions is not reused.
    const known = (request.totalOf ?? null) === onlyAgentSeen(DECISION, caller) ? request.total : null;
    const conditions = [...request.conditions, PROPOSED];
    const range = { conditions, order, position: known === null ? null : position, atOnce: CHUNK };
    const places: number[] = [];
    const couldApprove = (await this.judges([agent]))(agent);
    const turn = new Turn();
    let [total, offset] = [0, request.offset];
    for await (const decisions of this.records.columns(DECISION, JUDGED, range, caller)) {
      for (const decision of decisions) {
        if (turn.isOver) await turn.next();
        request.leaving?.throwIfAborted();
        if (!couldApprove(decision)) continue;
        total += 1;
        if (!isBeyond(decision.createdSequence, position, order) || offset-- > 0) continue;
        if (places.length <= limit) places.push(decision.createdSequence);
        else if (known !== null) return { places, total: known };
      }
    }
    return { places, total: known ?? total };
  }

  /** Makes a judge for each of these agents. */
  async judges(agents: readonly Agent[]): Promise<(agent: Agent) => Judge> {
    const signing = await this.holders.among(agents.map(({ id }) => id));
    return (agent) => this.judgeOf(agent, signing.has(agent.id));
  }

  private judgeOf(agent: Agent, hasPasskey: boolean): Judge {
    const { allowSelfApproval: mayApproveOwn } = this.configuration;
    /** By what policies see of a decision, which many share. */
    const forbidden = new Map<string, boolean>();
    const isForbidden = (decision: OpenDecision): boolean => {
      const resource = decisionResource(decision);
      const found = forbidden.get(resource) ?? this.policies.denying(decision, 'approve', agent).length > 0;
      forbidden.set(resource, found);
      return found;
    };
    return (decision) => {
      if (isExpired(decision, this.ledger.now)) return false;
      const { approvers } = decision;
      const groups = approvers === null ? null : groupsOf(agent, approvers);
      if (groups?.length === 0) return false;
      const lacksPasskey = groups !== null && fillableBy(hasPasskey, groups, approvers ?? []).length === 0;
      const isProposerSuspended = this.agents.isSuspended(decision.proposedBy);
      const isForbiddenTo = (): boolean => isForbidden(decision);
      const terms = { mayApproveOwn, isProposerSuspended, lacksPasskey, isForbidden: isForbiddenTo };
      return inability(decision, agent, terms) === null;
    };
  }
}

/** Whoever sees only its own decisions may learn nothing of what others could approve. */
function requireMayAsk(caller: Caller, agent: Agent | undefined): void {
  const onlyAgent = onlyAgentSeen(DECISION, caller);
  if (onlyAgent !== null && agent?.id !== onlyAgent) throw notThisAgent();
}

function isBeyond(sequence: number, position: number | null, order: PageRequest['order']): boolean {
  return position === null || (order === 'asc' ? sequence > position : sequence < position);
}
