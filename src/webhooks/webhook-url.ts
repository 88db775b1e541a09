import { isIP } from 'node:net';
import { isRefusedAddress } from './address-class';

/** What the operator permits as targets of deliveries. */
export interface WebhookTerms {
  readonly webhookAllowHttp: boolean;
  readonly webhookAllowPrivate: boolean;
}

const FORM = /^https?:\/\/([^/?]+)/i;
/** A URL parser would drop these characters, or take a backslash for a slash. */
const UNPRINTABLE = /[\s\p{Cc}\p{Cf}\\]/u;

/** What is wrong with a URL as the target of deliveries, whatever is permitted; undefined if nothing is. */
export function webhookUrlFault(text: string): string | undefined {
  const [, authority = ''] = FORM.exec(text) ?? [];
  if (UNPRINTABLE.test(text) || authority === '' || !URL.canParse(text)) return 'must be an absolute https URL';
  if (authority.includes('@')) return 'must not have user info';
  if (text.includes('#')) return 'must not have a fragment';
  return undefined;
}

/** Why a valid URL is not permitted; undefined if it is. Its name is looked up when a connection is opened. */
export function refusedTargetFault(url: string, terms: WebhookTerms): string | undefined {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !terms.webhookAllowHttp)
    return 'must begin with https://, since WEBHOOK_ALLOW_HTTP is not set';
  if (!terms.webhookAllowPrivate && isRefusedLiteral(addressOf(hostname)))
    return 'must not be at a private or special address, since WEBHOOK_ALLOW_PRIVATE is not set';
  return undefined;
}

/** Whether a host is an address that is refused. */
function isRefusedLiteral(host: string): boolean {
  return isIP(host) !== 0 && isRefusedAddress(host);
}

/** An IPv6 address without its brackets. */
function addressOf(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
