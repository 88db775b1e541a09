interface Explained {
  readonly matched: readonly { readonly policy: { readonly id: string } }[];
  readonly limits: readonly {
    readonly policy: { readonly id: string; readonly name: string; readonly version: string };
    readonly max: string;
    readonly used: string;
    readonly asked: string | null;
    readonly resetsAt: string;
  }[];
}

/** Of each limit that keeps a policy from allowing an action: what is used, and when it is free again. */
export function limitTexts({ matched, limits }: Explained): string[] {
  const allowing = new Set(matched.map(({ policy }) => policy.id));
  return limits
    .filter(({ policy, asked, used, max }) => {
      const isReached = asked === null || isBeyond(max, used, asked);
      return !allowing.has(policy.id) && isReached;
    })
    .map(({ policy: { name, version }, asked, used, max, resetsAt }) => {
      const why =
        asked === null
          ? 'the parameters have no amount that its limit counts'
          : `${used} of ${max} are used and this asks for ${asked}; it begins anew at ${resetsAt}`;
      return `${name} ${version} would allow it, but ${why}.`;
    });
}

/** Whether the amounts together are more than the maximum: exactly, as the service adds them, not as doubles. */
function isBeyond(max: string, ...amounts: readonly string[]): boolean {
  const all = [max, ...amounts].map((text) => text.split('.'));
  const digits = Math.max(...all.map(([, fraction = '']) => fraction.length));
  const [most = 0n, ...rest] = all.map(([whole = '', fraction = '']) => BigInt(whole + fraction.padEnd(digits, '0')));
  return rest.reduce((sum, amount) => sum + amount, 0n) > most;
}
