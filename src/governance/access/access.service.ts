import { Injectable } from '@nestjs/common';
import { Configuration } from '../../core/config/configuration';
import { invalidField } from '../../core/errors/domain-error';
import { callerKey, Gates } from '../../http/gates';
import type { Caller } from '../../ledger/kinds/caller';
import type { Moment } from '../../ledger/record-history';
import { PolicyComparisons } from '../policy-plans/policy-comparisons';
import { PastPolicies } from '../policies/past-policies';
import type { PolicyRules } from '../policies/evaluation/compiled-policy';
import { StopResponse } from '../stops/dto/stop.dto';
import { accessChange, accessPlan } from './access-plan';
import { accessChanges, accessRegions, type AccessRegions } from './access-regions';
import { type AccessSnapshot, AccessSnapshots, MAX_GRANTS } from './access-snapshots';
import type { AccessQuery } from './dto/access.requests';
import { type AccessChangeResponse, AccessGrantResponse, type AccessResponse } from './dto/access.response';

const SUSPENDED = 'The agent is suspended.';
const MORE_GRANTS = `The agent has more than ${MAX_GRANTS} active grants.`;

/** Changes of access; `reason` says why some are missing, and is null if none are. */
interface Changes {
  readonly changes: readonly AccessChangeResponse[];
  readonly reason: string | null;
}

/** Finds what an agent may do: the effects on this agent of a plan from an empty set to the policies in force. */
@Injectable()
export class AccessService {
  constructor(
    private readonly snapshots: AccessSnapshots,
    private readonly comparisons: PolicyComparisons,
    private readonly past: PastPolicies,
    private readonly configuration: Configuration,
    private readonly gates: Gates,
  ) {}

  /**
   * Finds an agent's access. Counts among plans, of which one is made at a time.
   * @param signal aborted when nobody waits for the response any more
   * @throws NOT_FOUND; VALIDATION_ERROR for a moment in the future, or a `since` later than `asOf`; UNAVAILABLE if
   * another plan of the caller already waits; the reason of `signal`
   */
  find(caller: Caller, idOrName: string, query: AccessQuery, signal: AbortSignal): Promise<AccessResponse> {
    const answer = (): Promise<AccessResponse> => this.answer(caller, idOrName, query, signal);
    return this.gates.get('plans').run(callerKey(caller), answer, { signal });
  }

  private async answer(
    caller: Caller,
    idOrName: string,
    { asOf, since }: AccessQuery,
    signal: AbortSignal,
  ): Promise<AccessResponse> {
    const [end, start] = [await this.sequenceAt(asOf, 'asOf'), await this.sequenceAt(since, 'since')];
    if (start !== undefined && end !== undefined && start > end)
      throw invalidField('query.since', 'must not be later than asOf');
    const snapshot =
      end === undefined
        ? await this.snapshots.now(caller, idOrName)
        : await this.snapshots.after(caller, idOrName, end, signal);
    const regions = await this.regions(snapshot, signal);
    const changed = start === undefined ? null : await this.changes(caller, snapshot, start, signal);
    return accessResponse(snapshot, regions, changed);
  }

  private async sequenceAt(moment: Moment | undefined, name: keyof AccessQuery): Promise<number | undefined> {
    return moment === undefined ? undefined : (await this.past.wholeChangeAt(moment, `query.${name}`)).sequence;
  }

  private async regions({ agent, policies }: AccessSnapshot, signal: AbortSignal): Promise<AccessRegions> {
    if (agent.status !== 'active') return { allowed: [], withApproval: [], reason: null };
    const plan = await accessPlan({ agent, policies }, this.configuration.policyDefaultEffect);
    const { effects, reason } = await this.comparisons.compareFor(agent, plan, signal);
    const regions = accessRegions(effects, policies);
    return { ...regions, reason: reason ?? regions.reason };
  }

  private async changes(
    caller: Caller,
    after: AccessSnapshot,
    sequence: number,
    signal: AbortSignal,
  ): Promise<Changes> {
    const { agent } = after;
    const before = await this.snapshots.findAfter(caller, agent.id, sequence, signal);
    const plan = await accessChange(before, after, this.configuration.policyDefaultEffect);
    const { effects, reason } = await this.comparisons.compareFor(agent, plan, signal);
    const policies = new Map<string, PolicyRules>();
    for (const policy of [...(before?.policies ?? []), ...after.policies]) policies.set(policy.id, policy);
    return { changes: accessChanges(effects, [...policies.values()]), reason };
  }
}

function accessResponse(snapshot: AccessSnapshot, regions: AccessRegions, changed: Changes | null): AccessResponse {
  const { agent, rules, stops, grants, review } = snapshot;
  const missing = regions.reason ?? changed?.reason ?? (grants.length > MAX_GRANTS ? MORE_GRANTS : null);
  const reason = missing ?? (agent.status === 'active' ? null : SUSPENDED);
  return {
    agentId: agent.id,
    revision: agent.revision,
    rules,
    complete: missing === null,
    ...(reason !== null && { reason }),
    allowed: regions.allowed,
    withApproval: regions.withApproval,
    stops: stops.map(StopResponse.from),
    grants: grants.slice(0, MAX_GRANTS).map(AccessGrantResponse.from),
    observeUntil: agent.observeUntil,
    ...review,
    ...(changed !== null && { changes: changed.changes }),
  };
}
