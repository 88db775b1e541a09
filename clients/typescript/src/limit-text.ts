interface LimitExplanation {
  readonly matched: readonly { readonly policy: { readonly id: string } }[];
  readonly limits: readonly {
    readonly policy: { readonly id: string; readonly name: string; readonly version: string };
    readonly max: string;
    readonly used: string;
    readonly asked: string | null;
    readonly resetsAt: string;
  }[];
}

/** Describes each limit that keeps a policy from allowing an action: its use, and the time when it begins anew. */
export function limitTexts({ matched, limits }: LimitExplanation): string[] {
  const allowingIds = new Set(matched.map(({ policy }) => policy.id));
  return limits
    .filter(({ policy, asked: requested, used, max }) => {
      const isReached = requested === null || isBeyond(max, used, requested);
      return !allowingIds.has(policy.id) && isReached;
    })
    .map(({ policy: { name, version }, asked, used, max, resetsAt }) => {
      const obstacle =
        asked === null
          ? 'the parameters have no amount that its limit counts'
          : `${used} of ${max} are used and this request needs ${asked}; it begins anew at ${resetsAt}`;
      return `${name} ${version} would allow it, but ${obstacle}.`;
    });
}

/**
 * True if the sum of the amounts exceeds the maximum. The sum is exact, as in the service: it does not use
 * floating-point numbers.
 */
function isBeyond(max: string, ...amounts: readonly string[]): boolean {
  const all = [max, ...amounts].map((text) => text.split('.'));
  const digits = Math.max(...all.map(([, fraction = '']) => fraction.length));
  const [most = 0n, ...amountsInUnits] = all.map(([whole = '', fraction = '']) =>
    BigInt(whole + fraction.padEnd(digits, '0')),
  );
  return amountsInUnits.reduce((sum, amount) => sum + amount, 0n) > most;
}
