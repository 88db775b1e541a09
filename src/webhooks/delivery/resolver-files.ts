import { isIP } from 'node:net';

/** The addresses that the text of a file of hosts has for a name. */
export function addressesListed(hosts: string, name: string): readonly string[] {
  const lines = wordsOfLines(hosts).filter(([, ...names]) => names.some((other) => other.toLowerCase() === name));
  return lines.flatMap(([address = '']) => (isIP(address) === 0 ? [] : [address]));
}

/**
 * What a name may stand for, in the order in which it is asked: as it is, and below the domains that are searched, by
 * the text of the system's `resolv.conf`.
 */
export function namesMeant(resolver: string, name: string): readonly string[] {
  if (name.endsWith('.')) return [name];
  const lines = wordsOfLines(resolver);
  // Of several lines the last counts.
  const [, ...domains] = lines.findLast(([word = '']) => ['search', 'domain'].includes(word)) ?? [];
  const options = lines.filter(([word]) => word === 'options').flat();
  const dots = Number(options.findLast((option) => option.startsWith('ndots:'))?.slice('ndots:'.length) ?? 1);
  // The root, a single dot, adds nothing to a name.
  const searched = domains.map((domain) => domain.replace(/\.+$/, '')).filter((domain) => domain !== '');
  const below = searched.map((domain) => `${name}.${domain}`);
  return name.split('.').length > dots ? [name, ...below] : [...below, name];
}

function wordsOfLines(text: string): readonly string[][] {
  const lines = text.split('\n').map((line) => line.replace(/[#;].*$/, '').trim());
  return lines.filter((line) => line !== '').map((line) => line.split(/\s+/));
}
