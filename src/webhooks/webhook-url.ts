import { isIP } from 'node:net';
import { isRefusedAddress } from './address-class';

/** What the operator permits as targets of deliveries. */
export interface WebhookTerms {
  readonly webhookAllowHttp: boolean;
  readonly webhookAllowPrivate: boolean;
}

const FORM = /^(https?):\/\/([^/?]+)/i;
/** A URL parser would drop these characters, or take a backslash for a slash. */
const UNPRINTABLE = /[\s\p{Cc}\p{Cf}\\]/u;

/**
 * What is wrong with a URL as the target of deliveries; undefined if nothing is. Its name is looked up when a
 * connection is opened.
 */
export function webhookUrlFault(text: string, terms: WebhookTerms): string | undefined {
  const [, scheme = '', authority = ''] = FORM.exec(text) ?? [];
  if (UNPRINTABLE.test(text) || authority === '' || !URL.canParse(text)) return 'must be an absolute URL';
  if (scheme.toLowerCase() === 'http' && !terms.webhookAllowHttp)
    return 'must begin with https://, since WEBHOOK_ALLOW_HTTP is not set';
  if (authority.includes('@')) return 'must not have user info';
  if (text.includes('#')) return 'must not have a fragment';
  if (!terms.webhookAllowPrivate && isRefusedLiteral(hostOf(new URL(text))))
    return 'must not be at a private or special address, since WEBHOOK_ALLOW_PRIVATE is not set';
  return undefined;
}

/** Whether a host is an address that is refused. */
function isRefusedLiteral(host: string): boolean {
  return isIP(host) !== 0 && isRefusedAddress(host);
}

/** The host of a URL, an IPv6 address without its brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
