import { RISK_LEVELS, type RequiredApprovals, type RiskLevel } from './configuration';
import { parseList, parseWholeNumber } from './variable';

const MOST_APPROVALS = 100;

/** `low=1,high=2`: levels left out need one approval. */
export function parseRequiredApprovals(text: string): RequiredApprovals | undefined {
  const pairs = parseList(text, parsePair);
  if (!pairs || new Set(pairs.map(([level]) => level)).size < pairs.length) return undefined;
  return { low: 1, medium: 1, high: 1, critical: 1, ...Object.fromEntries(pairs) };
}

function parsePair(text: string): readonly [RiskLevel, number] | undefined {
  const equalsSign = text.indexOf('=');
  const level = RISK_LEVELS.find((known) => known === text.slice(0, equalsSign));
  const approvals = parseWholeNumber(text.slice(equalsSign + 1), 1, MOST_APPROVALS);
  return level === undefined || approvals === undefined ? undefined : [level, approvals];
}
