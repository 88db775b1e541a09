import { isIP } from 'node:net';
import type { TrustedProxies } from './configuration';
import { parseList, parseWholeNumber } from './variable';

const MOST_HOPS = 32;

/** A number of hops, or addresses and subnets separated by commas. */
export function parseTrustedProxies(text: string): TrustedProxies | undefined {
  return parseWholeNumber(text, 0, MOST_HOPS) ?? parseList(text, parseSubnet);
}

/** `10.0.0.7`, `10.0.0.0/8`, `fd00::/8`. A prefix of 0 would trust everyone, so it is refused. */
function parseSubnet(text: string): string | undefined {
  const slash = text.indexOf('/');
  const version = isIP(slash < 0 ? text : text.slice(0, slash));
  if (version === 0 || text.includes('%')) return undefined;
  if (slash < 0) return text;
  const longest = version === 4 ? 32 : 128;
  return parseWholeNumber(text.slice(slash + 1), 1, longest) === undefined ? undefined : text;
}
