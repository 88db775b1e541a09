const GROUPS = 8;
/** Groups that the addresses of one client have in common. */
const GROUPS_OF_CLIENT = 4;

/** Returns the eight groups of an IPv6 address in any notation. */
export function ipv6Groups(address: string): number[] {
  const [withoutZone = ''] = address.split('%');
  const [head = '', tail] = withoutZone.split('::');
  const [before, after] = [partsOf(head), partsOf(tail ?? '')];
  const gap = tail === undefined ? 0 : Math.max(0, GROUPS - before.length - after.length);
  return [...before, ...new Array<number>(gap).fill(0), ...after];
}

function partsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}

/** Returns the IPv4 address in the two groups of an IPv6 address that begin at `at`; each is XORed with `mask`. */
export function embeddedIpv4(groups: readonly number[], at: number, mask = 0): string {
  const [high, low] = [(groups[at] ?? 0) ^ mask, (groups[at + 1] ?? 0) ^ mask];
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/**
 * Returns the client for which a request or connection is counted: an IPv4 address, or the /64 of an IPv6 address,
 * since one client has all of it.
 */
export function countedClient(address: string): string {
  if (!address.includes(':')) return address;
  const site = ipv6Groups(address).slice(0, GROUPS_OF_CLIENT);
  return `${site.map((group) => group.toString(16)).join(':')}::/64`;
}

/** Returns an IPv4-mapped address as IPv4, and any other address unchanged. */
export function unmapAddress(address: string): string {
  if (!address.includes(':')) return address;
  const groups = ipv6Groups(address);
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  return isMapped ? embeddedIpv4(groups, 6) : address;
}
