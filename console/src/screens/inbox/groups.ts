import type { Decision, Execution } from '../../api/types.js';

/** Executions by the ids of the decisions that they wait for. */
export type Executions = ReadonlyMap<string, Execution>;

/** The waiting decisions of one agent about one action. */
export interface Group {
  readonly key: string;
  /** Null for a key that is bound to nobody. */
  readonly proposedBy: string | null;
  /** The action, or the type of proposals that are about no execution. */
  readonly action: string;
  readonly decisions: readonly Decision[];
}

/** Maximum number of decisions that one request approves. */
export const MAX_TOGETHER = 50;
/** Changes of the rules are decided one at a time. */
const SINGLE_TYPES = ['change', 'change_review'];
const RISKS = ['critical', 'high', 'medium', 'low'] as const;

/**
 * Groups decisions by agent and action: the gravest risk first; of one risk, groups of several before single decisions,
 * in the order of the first of each.
 */
export function groupsOf(decisions: readonly Decision[], executions: Executions): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const decision of decisions) {
    const { id, proposedBy, type } = decision;
    const action = executions.get(id)?.action ?? type;
    const key = `${proposedBy ?? ''} ${action}`;
    groups.set(key, { key, proposedBy, action, decisions: [...(groups.get(key)?.decisions ?? []), decision] });
  }
  return [...groups.values()].sort((left, right) => rankOf(left) - rankOf(right));
}

function rankOf({ decisions }: Group): number {
  return 2 * RISKS.indexOf(highestRisk(decisions)) + (decisions.length > 1 ? 0 : 1);
}

/**
 * True if a decision can be approved together with others. False if it needs a signature of its own, changes the rules,
 * is erased, or waits for the person only in the place of somebody else.
 */
export function isSelectable({ type, approvers, erased, inPlaceOf }: Decision): boolean {
  const isSigned = approvers?.some(({ signed }) => signed) === true;
  return !SINGLE_TYPES.includes(type) && erased !== true && !isSigned && inPlaceOf === undefined;
}

/** Returns the gravest risk. */
export function highestRisk(decisions: readonly Decision[]): (typeof RISKS)[number] {
  return RISKS.find((level) => decisions.some(({ riskLevel }) => riskLevel === level)) ?? 'low';
}
