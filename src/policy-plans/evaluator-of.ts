import type { PolicyRules } from '../policies/evaluation/compiled-policy';
import { PolicyEvaluator } from '../policies/evaluation/policy-evaluator';
import { Slices } from '../shared/slices';

/** Policies compiled at once: a few milliseconds' work. */
const CHUNK = 100;

/** An evaluator for a set of policies that need not be in force. Built in chunks. */
export async function evaluatorOf(policies: readonly PolicyRules[]): Promise<PolicyEvaluator> {
  const evaluator = new PolicyEvaluator();
  const slices = new Slices();
  for (let start = 0; start < policies.length; start += CHUNK) {
    await slices.next();
    evaluator.addAll(policies.slice(start, start + CHUNK));
  }
  return evaluator;
}
