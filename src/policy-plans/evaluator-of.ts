import type { PolicyRules } from '../policies/evaluation/compiled-policy';
import { PolicyEvaluator } from '../policies/evaluation/policy-evaluator';
import { Slices } from '../shared/slices';

/** Policies that are compiled at once: a few milliseconds' worth. */
const PIECE = 100;

/** What asks a set of policies that need not be in force. In slices. */
export async function evaluatorOf(policies: readonly PolicyRules[]): Promise<PolicyEvaluator> {
  const evaluator = new PolicyEvaluator();
  const slices = new Slices();
  for (let start = 0; start < policies.length; start += PIECE) {
    await slices.next();
    evaluator.addAll(policies.slice(start, start + PIECE));
  }
  return evaluator;
}
