import { domainToASCII } from 'node:url';
import { rememberReadings } from './remembered-readings';
import { isUrl, MAX_PATH_CHARACTERS, resourcePathFault, urlPathStart } from './resources';
import { hasManyMarks, normalFormKc } from '../../../core/values/normal-form';

/** Labels of letters, digits and hyphens that neither begin nor end with a hyphen. */
const PLAIN_HOST = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
/** URL parsers read a host whose last label is such a number as an IPv4 address. */
const ENDS_IN_NUMBER = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;
const MAX_HOST_LENGTH = 253;
/** Characters that no host name has. A parser of URLs could end the host there, or skip the character. */
const FORBIDDEN_IN_HOST = /[^-.A-Za-z0-9\u0080-\u{10ffff}]|[\p{C}\s]/u;
/** Letters that versions of IDNA convert to different names: `straße.example` is `strasse.example` to some programs. */
const AMBIGUOUS_IN_HOST = /[ßẞς]/u;
const CONTROL_OR_FORMAT_CHARACTER = /[\p{Cc}\p{Cf}]/u;
/** A reader of URLs, or of `host:path`, would find the host before one of the signs that the local part must not have. */
const ADDRESS = /^(?<local>[^\s"',<>@/\\?#:;()[\]]+)@(?<host>[^@]+)$/;
const PORT = /:\d+$/;

/** Returns the fault of a policy's host name; undefined if it is valid. */
export function hostNameFault(text: string): string | undefined {
  return asciiHost(text) === text
    ? undefined
    : 'must be a host name in lower case and in ASCII ("xn--…"), such as "acme.example"';
}

/**
 * Returns the host that a text names, in ASCII: that of a URL, that of an address `local@host`, or the text itself.
 * Null if the text is none of these, if its host is an IP address, or if another program could read another host.
 */
export function hostIn(text: string): string | null {
  return text.length > MAX_PATH_CHARACTERS ? null : hostOfText(text);
}

const hostOfText = rememberReadings((text) => {
  if (CONTROL_OR_FORMAT_CHARACTER.test(text) || hasManyMarks(text)) return null;
  if (text.includes('://')) return hostOfUrl(text);
  return text.includes('@') ? hostOfAddress(text) : asciiHost(text);
});

const DOT = 0x2e;

/**
 * True if a host is one of some host names, or lies below one. Creates no texts, because each item of a list is
 * compared with each name.
 */
export function isInDomains(host: string, domains: readonly string[]): boolean {
  for (const domain of domains) {
    const start = host.length - domain.length;
    if ((start === 0 || host.charCodeAt(start - 1) === DOT) && host.endsWith(domain)) return true;
  }
  return false;
}

/**
 * Returns the host of a URL. A URL is read as a resource is, but may lack a path, and may have a query and a fragment.
 */
function hostOfUrl(text: string): string | null {
  const end = text.search(/[?#]/);
  const [url, rest] = end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end)];
  if (!isUrl(url)) return null;
  const start = urlPathStart(url);
  // Some parsers read the host up to the next slash.
  if (start < 0 && /[@\\]/.test(rest)) return null;
  const origin = start < 0 ? url : url.slice(0, start);
  const hasPath = start >= 0 && start < url.length - 1;
  if (resourcePathFault(hasPath ? url : `${origin}/path`) !== undefined) return null;
  return asciiHost(origin.slice(origin.indexOf('://') + '://'.length).replace(PORT, ''));
}

function hostOfAddress(text: string): string | null {
  // Compatibility forms are other spellings of the same characters: a full-width `@` is one, too.
  const { host } = (ADDRESS.test(normalFormKc(text)) ? ADDRESS.exec(text)?.groups : undefined) ?? {};
  return host === undefined ? null : asciiHost(host);
}

/** Converts a host name to ASCII by IDNA. Null if the text is no plain host name. */
function asciiHost(text: string): string | null {
  // Converting a name takes time that grows with the square of its length.
  if (text.length > MAX_HOST_LENGTH || FORBIDDEN_IN_HOST.test(text) || AMBIGUOUS_IN_HOST.test(text)) return null;
  const host = domainToASCII(text);
  return host.length <= MAX_HOST_LENGTH && PLAIN_HOST.test(host) && !ENDS_IN_NUMBER.test(host) ? host : null;
}
