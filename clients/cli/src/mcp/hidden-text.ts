import { counted } from '../output.js';

/** For what has a name about which nothing can be asked. */
export const UNNAMEABLE = 'unnameable';

/** Why something is hidden, by the reasons of the service. @param it such as "them", or "2 of them" */
const REASONS: Readonly<Record<string, (it: string) => string>> = {
  agent_suspended: () => 'the agent is suspended',
  capability_missing: (it) => `the agent lacks the capability for ${it}`,
  extension_refused: (it) => `an extension refuses ${it}`,
  limit_reached: (it) => `a limit is used up for ${it}`,
  no_policy_allows: (it) => `no policy allows ${it}`,
  policy_denied: (it) => `a policy denies ${it}`,
  principal_suspended: () => 'the person on whose behalf it acts is suspended',
  stopped: (it) => `a stop covers ${it}`,
  [UNNAMEABLE]: (it) => `policies cannot name ${it}`,
};

/**
 * Such as "3 tools hidden: no policy allows 2 of them, the agent lacks the capability for 1 of them."
 * @param reasons one for each that is hidden
 */
export function hiddenText(kind: string, reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const all = reasons.length === 1 ? 'it' : 'them';
  const texts = [...counts].map(([reason, count]) => {
    const it = counts.size === 1 ? all : `${count} of them`;
    return REASONS[reason]?.(it) ?? `the service denies ${it} (${reason})`;
  });
  return `${counted(reasons.length, kind)} hidden: ${texts.join(', ')}.`;
}
