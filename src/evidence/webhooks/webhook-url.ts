import { BlockList, isIP } from 'node:net';
import type { Configuration } from '../../core/config/configuration';
import { embeddedIpv4, ipv6Groups } from '../../core/values/ip-address';

/** Settings for the permitted targets of deliveries. */
type WebhookTerms = Pick<Configuration, 'webhookAllowHttp' | 'webhookAllowPrivate'>;

const FORM = /^https?:\/\/([^/?]+)/i;
/** A URL parser would drop these characters, or take a backslash for a slash. */
const UNPRINTABLE = /[\s\p{Cc}\p{Cf}\\]/u;

/** Returns the fault of a URL as the target of deliveries, regardless of settings; undefined if there is none. */
export function webhookUrlFault(text: string): string | undefined {
  const [, authority = ''] = FORM.exec(text) ?? [];
  if (UNPRINTABLE.test(text) || authority === '' || !URL.canParse(text)) return 'must be an absolute https URL';
  if (authority.includes('@')) return 'must not have user info';
  if (text.includes('#')) return 'must not have a fragment';
  return undefined;
}

/**
 * Returns why settings do not permit a valid URL; undefined if they do. Its host name is only looked up when a
 * connection is opened.
 */
export function refusedTargetFault(url: string, terms: WebhookTerms): string | undefined {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !terms.webhookAllowHttp)
    return 'must begin with https://, since WEBHOOK_ALLOW_HTTP is not set';
  // An IPv6 address has brackets around it.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (!terms.webhookAllowPrivate && isIP(host) !== 0 && isRefusedAddress(host))
    return 'must not be at a private or special address, since WEBHOOK_ALLOW_PRIVATE is not set';
  return undefined;
}

/** Networks that are not part of the public internet, or where cloud providers serve their metadata. */
const REFUSED_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
/** Networks: unspecified, loopback, local translation, unique local, link-local, site-local and multicast. */
const REFUSED_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['::', 128],
  ['::1', 128],
  ['64:ff9b:1::', 48],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

/** Prefixes, in groups, of addresses that embed an IPv4 address, and the index of the address's first group. */
const TRANSLATED: readonly { readonly begin: readonly number[]; readonly at: number; readonly isInverted?: true }[] = [
  // Compatible, mapped, translated (SIIT) and NAT64.
  { begin: [0, 0, 0, 0, 0, 0], at: 6 },
  { begin: [0, 0, 0, 0, 0, 0xffff], at: 6 },
  { begin: [0, 0, 0, 0, 0xffff, 0], at: 6 },
  { begin: [0x64, 0xff9b, 0, 0, 0, 0], at: 6 },
  // 6to4, and Teredo: the server, and the client, whose address is inverted.
  { begin: [0x2002], at: 1 },
  { begin: [0x2001, 0], at: 2 },
  { begin: [0x2001, 0], at: 6, isInverted: true },
];
/** Interface identifiers of ISATAP, which are followed by an IPv4 address. */
const ISATAP: readonly number[] = [0, 0x0200];
const ISATAP_MARK = 0x5efe;

const refused = new BlockList();
for (const [network, prefix] of REFUSED_IPV4) refused.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of REFUSED_IPV6) refused.addSubnet(network, prefix, 'ipv6');

/**
 * True if deliveries to an address are refused unless private ones are allowed. A text that is not an address is
 * refused, too.
 */
export function isRefusedAddress(address: string): boolean {
  const [bare = ''] = address.split('%');
  switch (isIP(bare)) {
    case 4:
      return refused.check(bare, 'ipv4');
    case 6:
      return (
        refused.check(bare, 'ipv6') || embeddedIn(ipv6Groups(bare)).some((embedded) => refused.check(embedded, 'ipv4'))
      );
    default:
      return true;
  }
}

function embeddedIn(groups: readonly number[]): string[] {
  const translations = TRANSLATED.filter(({ begin }) => begin.every((group, index) => groups[index] === group));
  const embedded = translations.map(({ at, isInverted }) => embeddedIpv4(groups, at, isInverted === true ? 0xffff : 0));
  const isIsatap = groups[5] === ISATAP_MARK && ISATAP.includes(groups[4] ?? -1);
  return isIsatap ? [...embedded, embeddedIpv4(groups, 6)] : embedded;
}
