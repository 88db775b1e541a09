import { counted } from '../output.js';

/** The reason of an item whose name cannot be a part of a request. */
export const UNNAMEABLE = 'unnameable';

/** Texts by the service's reasons for hiding. @param items for example "them", or "2 of them" */
const REASONS: Readonly<Record<string, (items: string) => string>> = {
  agent_suspended: () => 'the agent is suspended',
  capability_missing: (items) => `the agent lacks the capability for ${items}`,
  extension_refused: (items) => `an extension refuses ${items}`,
  limit_reached: (items) => `a limit is used up for ${items}`,
  no_policy_allows: (items) => `no policy allows ${items}`,
  policy_denied: (items) => `a policy denies ${items}`,
  principal_suspended: () => 'the person on whose behalf it acts is suspended',
  stopped: (items) => `a stop covers ${items}`,
  [UNNAMEABLE]: (items) => `policies cannot name ${items}`,
};

/**
 * Returns a sentence, for example "3 tools hidden: no policy allows 2 of them, the agent lacks the capability for 1 of
 * them."
 * @param reasons one for each hidden item
 */
export function hiddenText(kind: string, reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const all = reasons.length === 1 ? 'it' : 'them';
  const texts = [...counts].map(([reason, count]) => {
    const items = counts.size === 1 ? all : `${count} of them`;
    return REASONS[reason]?.(items) ?? `the service denies ${items} (${reason})`;
  });
  return `${counted(reasons.length, kind)} hidden: ${texts.join(', ')}.`;
}
