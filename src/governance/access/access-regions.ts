import type { PlannedEffectResponse } from '../policy-plans/dto/policy-plan.response';
import type { PolicyRules } from '../policies/evaluation/compiled-policy';
import { isDefault } from './access-plan';
import { AccessPolicyResponse, type AccessChangeResponse, type AccessRegionResponse } from './dto/access.response';

/** Most characters of policies that all regions repeat: nobody reads more, and it would fill the memory. */
const MAX_CHARACTERS = 8 * 1024 * 1024;
const TOO_LONG = 'The regions would repeat too many conditions, limits and approvers of their policies.';

/** Regions in which an agent may act. */
export interface AccessRegions {
  readonly allowed: readonly AccessRegionResponse[];
  readonly withApproval: readonly AccessRegionResponse[];
  /** Reason why regions are missing; null if none are. */
  readonly reason: string | null;
}

/** Returns the regions in which a plan of {@link accessPlan} lets the agent act. @param policies policies in force */
export function accessRegions(
  effects: readonly PlannedEffectResponse[],
  policies: readonly PolicyRules[],
): AccessRegions {
  const texts = new PolicyTexts(policies);
  const allowed: AccessRegionResponse[] = [];
  const withApproval: AccessRegionResponse[] = [];
  for (const { to, because, actions, resourceTypes, resources, when } of effects) {
    if (to.effect === 'deny' || (to.effect === 'no_policy' && isLimited(when, texts))) continue;
    const isByDefault = to.effect === 'no_policy';
    const reasons = isByDefault ? null : because.to.flatMap(({ id }) => texts.take(id ?? ''));
    if (texts.characters > MAX_CHARACTERS) return { allowed, withApproval, reason: TOO_LONG };
    const verdict = isByDefault ? ({ effect: 'allow' } as const) : to;
    const region = { to: verdict, actions, resourceTypes, resources, when, because: { to: reasons } };
    (verdict.effect === 'require_approval' ? withApproval : allowed).push(region);
  }
  return { allowed, withApproval, reason: null };
}

/**
 * Returns the regions that a plan of {@link accessChange} changes. @param policies policies in force before or after
 */
export function accessChanges(
  effects: readonly PlannedEffectResponse[],
  policies: readonly PolicyRules[],
): AccessChangeResponse[] {
  const texts = new PolicyTexts(policies);
  return effects.flatMap((effect) => {
    const [from, to] = (['from', 'to'] as const).map((side) => {
      const reasons = effect.because[side];
      const isByDefault = reasons.length > 0 && reasons.every(({ id }) => isDefault(id));
      const isDenied = isByDefault && isLimited(effect.when, texts);
      return isDenied ? ({ effect: 'deny' } as const) : effect[side];
    });
    if (from === undefined || to === undefined || (from.effect === 'deny' && to.effect === 'deny')) return [];
    const isPolicy = ({ id }: { readonly id: string | null }): boolean => !isDefault(id);
    const because = { from: effect.because.from.filter(isPolicy), to: effect.because.to.filter(isPolicy) };
    const { actions, resourceTypes, resources, when } = effect;
    return { from, to, actions, resourceTypes, resources, when, because };
  });
}

/**
 * True if a policy can only fail to match because of a limit: the default effect does not allow the use that a limit
 * refuses.
 */
function isLimited({ fail }: PlannedEffectResponse['when'], texts: PolicyTexts): boolean {
  return fail.some((version) => texts.hasLimitsOnly(version));
}

/** Policies as regions name them, and their total length. */
class PolicyTexts {
  characters = 0;
  private readonly byId = new Map<string, PolicyRules>();
  private readonly texts = new Map<string, { readonly policy: AccessPolicyResponse; readonly length: number }>();
  private readonly limited: ReadonlySet<string>;

  constructor(policies: readonly PolicyRules[]) {
    for (const policy of policies) this.byId.set(policy.id, policy);
    this.limited = new Set(policies.filter(isLimitedOnly).map(versionText));
  }

  hasLimitsOnly(version: Pick<PolicyRules, 'name' | 'version'>): boolean {
    return this.limited.has(versionText(version));
  }

  /** Returns the policy and adds its length; an empty list for an unknown id. */
  take(id: string): AccessPolicyResponse[] {
    const rules = this.byId.get(id);
    if (rules === undefined) return [];
    const policy = this.texts.get(id)?.policy ?? AccessPolicyResponse.from(rules);
    const length = this.texts.get(id)?.length ?? JSON.stringify(policy).length;
    this.texts.set(id, { policy, length });
    this.characters += length;
    return [policy];
  }
}

function isLimitedOnly({ conditions, limits, onBehalfOf }: PolicyRules): boolean {
  return limits.length > 0 && conditions.length === 0 && onBehalfOf.length === 0;
}

function versionText({ name, version }: Pick<PolicyRules, 'name' | 'version'>): string {
  return JSON.stringify([name, version]);
}
