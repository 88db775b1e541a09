import { isTooLarge } from '../approval/combined-requirement';
import type { CompiledPolicy } from './compiled-policy';
import { POLICY_EFFECTS } from './policy-effect';
import type { PolicyEffect } from './policy-effect';
import { evaluationOf } from './verdict';

/**
 * The best effect that policies could have if each one with conditions may match or not.
 * @param policies all match but for their conditions; the highest rank first, and within it the oldest.
 * @param otherwise what holds where none matches.
 */
export function bestEffectOf(policies: readonly CompiledPolicy[], otherwise: PolicyEffect): PolicyEffect {
  const certain = policies.filter(({ conditions }) => conditions === null);
  const floor = certain[0]?.rank ?? -Infinity;
  const least = effectOf(certain.filter(({ rank }) => rank === floor)) ?? otherwise;
  // Each of them could decide alone.
  const effects = policies.filter(({ rank }) => rank > floor).map(({ reference }) => reference.effect);
  return POLICY_EFFECTS.find((effect) => effect === least || effects.includes(effect)) ?? least;
}

/** An approval that is too large to give is a denial. Null if there are no policies. */
function effectOf(deciding: readonly CompiledPolicy[]): PolicyEffect | null {
  const { effect, requirement } = evaluationOf(deciding);
  return requirement !== null && isTooLarge(requirement) ? 'deny' : effect;
}
