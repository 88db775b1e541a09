import { Injectable } from '@nestjs/common';
import type { Agent } from '../../agents/agent.entity';
import { findAgent } from '../../agents/find-agent';
import { SuspendedAgents } from '../../agents/suspended-agents';
import { Configuration } from '../../config/configuration';
import { type Caller, SYSTEM_CALLER } from '../../ledger/caller';
import { LedgerService } from '../../ledger/ledger.service';
import { RecordReader } from '../../ledger/reading/record-reader';
import type { Condition, Page, PageRequest } from '../../ledger/record-page';
import { arraysOfOne } from '../../ledger/records/statements';
import { sightOf } from '../../ledger/records/visibility';
import { groupsOf } from '../../policies/approval/approver-groups';
import { Slices } from '../../shared/slices';
import { isExpired } from '../decision-rules';
import type { Decision } from '../decision.entity';
import { DECISION } from '../decision.kind';
import { ReviewPolicies } from '../review-policies';
import { inability, type OpenDecision } from './approver-ability';

/** Decisions that are looked through at once. */
const PIECE = 2_000;
const PROPOSED: Condition = { column: 'status', comparison: 'equals', value: 'proposed' };
const NAMES = [
  'type',
  'proposedBy',
  'riskLevel',
  'status',
  'reviews',
  'expiresAt',
  'executionId',
  'approvers',
] as const;
const NOTHING: Page<Decision> = { rows: [], total: 0, more: false };

/** What of a list was found: the sequences of the page's rows and of the one beyond it. */
interface Found {
  readonly places: readonly number[];
  readonly total: number;
}

/**
 * The decisions that one agent could approve now. No index tells which, so those that are proposed are looked through, without
 * their free-form content, up to the end of the page; the first page is counted to the end of the list.
 */
@Injectable()
export class AwaitingDecisions {
  constructor(
    private readonly records: RecordReader,
    private readonly ledger: LedgerService,
    private readonly policies: ReviewPolicies,
    private readonly suspended: SuspendedAgents,
    private readonly configuration: Configuration,
  ) {}

  async page(caller: Caller, idOrName: string, request: PageRequest): Promise<Page<Decision>> {
    const agent = await findAgent(this.records, idOrName);
    if (agent?.status !== 'active') return NOTHING;
    const { limit, order } = request;
    const { places, total } = await this.search(caller, agent, request);
    const shown = places.slice(0, limit);
    if (shown.length === 0) return { ...NOTHING, total };
    const conditions = [{ column: 'createdSequence', comparison: 'among', value: arraysOfOne(shown) } as const];
    const among = { conditions, limit, offset: 0, order, position: null, total: 0 } as const;
    // The caller's sight was asked for in the search.
    const page = await this.records.page(DECISION, among, SYSTEM_CALLER);
    return { rows: page.rows, total, more: page.more || places.length > limit };
  }

  private async search(caller: Caller, agent: Agent, request: PageRequest): Promise<Found> {
    const { limit, order, position } = request;
    // A total that was found for somebody else is not taken over.
    const known = sightOf(DECISION, caller).length === 0 ? request.total : null;
    const conditions = [...request.conditions, PROPOSED];
    const range = { conditions, order, position: known === null ? null : position, atOnce: PIECE };
    const slices = new Slices();
    const places: number[] = [];
    let [total, offset] = [0, request.offset];
    for await (const decisions of this.records.columns(DECISION, NAMES, range, caller)) {
      for (const decision of decisions) {
        await slices.next();
        if (!this.couldApprove(agent, decision)) continue;
        total += 1;
        if (!isBeyond(decision.createdSequence, position, order) || offset-- > 0) continue;
        if (places.length <= limit) places.push(decision.createdSequence);
        else if (known !== null) return { places, total: known };
      }
    }
    return { places, total: known ?? total };
  }

  private couldApprove(agent: Agent, decision: OpenDecision): boolean {
    if (isExpired(decision, this.ledger.now)) return false;
    if (decision.approvers !== null && groupsOf(agent, decision.approvers).length === 0) return false;
    const obstacle = inability(decision, agent, {
      mayApproveOwn: this.configuration.allowSelfApproval,
      isProposerSuspended: this.suspended.has(decision.proposedBy),
      isForbidden: () => this.policies.denying(decision, 'approve', agent).length > 0,
    });
    return obstacle === null;
  }
}

function isBeyond(sequence: number, position: number | null, order: PageRequest['order']): boolean {
  return position === null || (order === 'asc' ? sequence > position : sequence < position);
}
