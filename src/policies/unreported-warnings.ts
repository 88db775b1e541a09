import { policyWarnings } from './evaluation/policy-warnings';
import { Slices } from '../shared/slices';
import type { Policy } from './policy.entity';

/** Most log lines per start, and most warnings per line. */
const MOST_LINES = 20;
const MOST_WARNINGS = 5;

/**
 * Log lines about policies that match less than they seem to, because they list what an earlier version accepted and
 * this one does not. A policy's own `warnings` are not repeated. Denials come first. In chunks.
 */
export async function unreportedWarnings(policies: readonly Policy[]): Promise<string[]> {
  const slices = Slices.ofWrite();
  const lines: string[] = [];
  for (const policy of [...policies].sort(denyingFirst)) {
    if (slices.areDue) await slices.next();
    const unsaid = policyWarnings(policy).filter((warning) => !policy.warnings.includes(warning));
    if (unsaid.length > 0) lines.push(lineOn(policy, unsaid));
  }
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES), `${lines.length - MOST_LINES} more policies match less than they seem to.`];
}

function lineOn({ name, version, effect }: Policy, warnings: readonly string[]): string {
  const more = warnings.length - MOST_WARNINGS;
  const listed = more > 0 ? [...warnings.slice(0, MOST_WARNINGS), `So do ${more} more.`] : warnings;
  return `The policy "${name}" (version ${version}, ${effect}) matches less than it seems to; replace it with a new version. ${listed.join(' ')}`;
}

function denyingFirst(left: Policy, right: Policy): number {
  return Number(right.effect === 'deny') - Number(left.effect === 'deny');
}
