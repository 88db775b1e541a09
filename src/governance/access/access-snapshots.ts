import { Injectable } from '@nestjs/common';
import { yieldBetween } from '../../core/concurrency/time-slice';
import { Configuration } from '../../core/config/configuration';
import { requireFound } from '../../core/errors/domain-error';
import { type Caller, SYSTEM_CALLER } from '../../ledger/kinds/caller';
import { RecordHistory } from '../../ledger/record-history';
import { RecordReader } from '../../ledger/reading/record-reader';
import { sha256 } from '../../ledger/chain/hash-chain';
import { type Agent, AGENT } from '../agents/agent.entity';
import { findNamedAgent } from '../agents/find-agent';
import { requireSameTeamThen } from '../agents/team';
import { type Grant, GRANT } from '../decisions/grants/grant.entity';
import { ActivePolicies } from '../policies/active-policies';
import { PastPolicies } from '../policies/past-policies';
import type { Policy } from '../policies/policy.entity';
import { hashedContent, rulesHash } from '../policies/policy-content';
import { ActiveStops } from '../stops/active-stops';
import { concerns, type Stop } from '../stops/stop.entity';
import { AccessReviews, type LastReview } from './access-reviews';

/** Most grants that are listed. */
export const MAX_GRANTS = 1_000;
/** Number of grants read at once. */
const CHUNK_SIZE = 100;
/** Most attempts to read an agent while policies change. */
const MAX_STARTS = 5;

/** Basis of what an agent may do at a moment, with its grants and last review. */
export interface AccessSnapshot {
  readonly agent: Agent;
  readonly policies: readonly Policy[];
  readonly rules: string;
  readonly stops: readonly Stop[];
  /** Grants, at most one more than a response lists. */
  readonly grants: readonly Grant[];
  readonly review: LastReview;
}

/** Reads the basis of what an agent may do, now or at an earlier time. */
@Injectable()
export class AccessSnapshots {
  constructor(
    private readonly records: RecordReader,
    private readonly history: RecordHistory,
    private readonly policies: ActivePolicies,
    private readonly past: PastPolicies,
    private readonly stops: ActiveStops,
    private readonly reviews: AccessReviews,
    private readonly configuration: Configuration,
  ) {}

  /** @throws NOT_FOUND */
  async now(caller: Caller, idOrName: string): Promise<AccessSnapshot> {
    for (let start = 1; ; start += 1) {
      const { version } = this.policies.inForce;
      const agent = requireFound(await findNamedAgent(caller, this.records, idOrName), 'agent');
      const grants = await this.grantsOf(agent.id);
      const review = await this.reviews.find(agent.id);
      await this.policies.catchUp(this.stops.memory);
      // An agent read before a policy changed could be shown rights that it never had.
      if (this.policies.inForce.version !== version && start < MAX_STARTS) continue;
      const { stored, rules } = this.policies;
      return { agent, policies: stored, rules, stops: stopsFor(agent, this.stops.active), grants, review };
    }
  }

  /**
   * Reads the basis after the entry with the sequence.
   * @throws NOT_FOUND if the agent did not exist then; PERMISSION_DENIED if it was in another team than the caller's;
   * the reason of `signal`
   */
  async after(caller: Caller, idOrName: string, sequence: number, signal: AbortSignal): Promise<AccessSnapshot> {
    const { id } = requireFound(await findNamedAgent(caller, this.records, idOrName), 'agent');
    return requireFound(await this.findAfter(caller, id, sequence, signal), 'agent');
  }

  /**
   * Reads the basis by the agent's id; undefined if the agent did not exist then. @throws PERMISSION_DENIED; the reason
   * of `signal`
   */
  async findAfter(
    caller: Caller,
    id: string,
    sequence: number,
    signal: AbortSignal,
  ): Promise<AccessSnapshot | undefined> {
    const agent = await this.history.findAfter(AGENT, id, sequence);
    if (agent === undefined) return undefined;
    requireSameTeamThen(caller, agent);
    const policies = await this.past.loadAfter(sequence, signal);
    const hashes = new Map<string, { readonly hash: string }>();
    for await (const policy of yieldBetween(policies)) hashes.set(policy.id, { hash: sha256(hashedContent(policy)) });
    return {
      agent,
      policies,
      rules: rulesHash(hashes, this.configuration.policyDefaultEffect),
      stops: stopsFor(agent, await this.stops.activeAfter(sequence)),
      grants: await this.grantsAfter(id, sequence, signal),
      review: await this.reviews.find(id, sequence),
    };
  }

  private async grantsOf(agentId: string): Promise<Grant[]> {
    const grants: Grant[] = [];
    const conditions = [
      { column: 'agentId', comparison: 'equals', value: agentId },
      { column: 'status', comparison: 'equals', value: 'active' },
    ] as const;
    for await (const chunk of this.records.chunks(GRANT, conditions, CHUNK_SIZE, SYSTEM_CALLER)) {
      grants.push(...chunk);
      if (grants.length > MAX_GRANTS) break;
    }
    return grants.slice(0, MAX_GRANTS + 1);
  }

  private async grantsAfter(agentId: string, sequence: number, signal: AbortSignal): Promise<Grant[]> {
    const grants: Grant[] = [];
    for await (const chunk of this.history.chunks(GRANT, sequence, { column: 'agentId', value: agentId })) {
      signal.throwIfAborted();
      grants.push(...chunk.filter(({ status }) => status === 'active'));
      if (grants.length > MAX_GRANTS) break;
    }
    return grants.slice(0, MAX_GRANTS + 1);
  }
}

function stopsFor({ id: agentId, roles }: Agent, stops: readonly Stop[]): Stop[] {
  return stops.filter((stop) => concerns(stop, { agentId, roles }));
}
