import { hasManyMarks, normalFormKc } from './normal-form.mjs';
import { isUnmistakable } from './spelling.mjs';

/**
 * The host that a text names: docs/policies.md, Conditions, `domain`.
 */

const MOST = 4_096;
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/u;
const LONGEST_LABEL = 63;
const LONGEST_NAME = 253;
const UNSEEN = /[\p{Cc}\p{Cf}]/u;
const NOT_IN_LOCAL_PART = /[\s"',<>/\\?#:;()[\]]/u;
/** Signs that no address had before the fourth version of the rules. */
const NOT_IN_ADDRESS = /[\s"',<>]/u;

/**
 * True if a host is one of the domains, or below one.
 * @param {string | null} name as `nameIn` returns it; null if there is none
 * @param {readonly string[]} domains
 * @returns {boolean | undefined} undefined if there is none
 */
export function isInDomain(name, domains) {
  return name === null ? undefined : domains.some((domain) => `.${name}`.endsWith(`.${domain}`));
}

/**
 * Returns the host that a text names; null if it names none, or could be read as naming another one.
 * @param {string} text
 * @param {number} evaluation the version of the rules
 * @returns {string | null}
 */
export function nameIn(text, evaluation) {
  if (text.length > MOST || UNSEEN.test(text) || hasManyMarks(text)) return null;
  return (text.includes('://') ? nameInUrl(text) : nameInAddress(text, evaluation)) ?? null;
}

/**
 * @param {string} text a name, or an address of mail
 * @param {number} evaluation
 * @returns {string | undefined}
 */
function nameInAddress(text, evaluation) {
  const parts = text.split('@');
  if (parts.length === 1) return asciiName(text);
  const [local = '', host = ''] = parts;
  const compatible = normalFormKc(text);
  const [compatibleLocal = ''] = compatible.split('@');
  const isAmbiguous = evaluation < 4 ? NOT_IN_ADDRESS.test(compatible) : NOT_IN_LOCAL_PART.test(compatibleLocal);
  const isAddress = parts.length === 2 && local !== '' && compatible.split('@').length === 2 && !isAmbiguous;
  return isAddress ? asciiName(host) : undefined;
}

/**
 * Path, query and fragment may be missing.
 * @param {string} url
 */
function nameInUrl(url) {
  const [, origin = '', host = '', path = '', rest = ''] =
    /^([^:/?#]+:\/\/([^/?#]*?)(?::[0-9]+)?)(\/[^?#]*)?([?#].*)?$/su.exec(url) ?? [];
  if (path === '' && /[@\\]/u.test(rest)) return undefined;
  return isUnmistakable(`${origin}${path === '' || path === '/' ? '/a' : path}`) ? asciiName(host) : undefined;
}

/**
 * Returns a host name as URLs have it; undefined for an IP address.
 * @param {string} host
 */
function asciiName(host) {
  if (host.length > LONGEST_NAME) return undefined;
  // A name has no character that ends a host, or that readers of URLs remove; beyond ASCII, IDNA decides.
  if (/[^a-z0-9.\-\u0080-\u{10ffff}]/iu.test(host) || /[\p{C}\s]/u.test(host)) return undefined;
  // IDNA of 2003 and of today make different names of these letters.
  if (/[\u00df\u1e9e\u03c2]/u.test(host)) return undefined;
  const name = hostnameOf(host);
  const labels = name.split('.');
  const isName = labels.every((label) => label.length <= LONGEST_LABEL && LABEL.test(label));
  const isNumber = /^(?:[0-9]+|0x[0-9a-f]*)$/u.test(labels.at(-1) ?? '');
  return isName && !isNumber && name.length <= LONGEST_NAME ? name : undefined;
}

/** @param {string} host */
function hostnameOf(host) {
  try {
    return new URL(`http://${host}/`).hostname;
  } catch {
    return '';
  }
}
