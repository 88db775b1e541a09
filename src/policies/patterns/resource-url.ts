import { percentDecoded } from './percent-encoding';

const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i;
/**
 * Host names without empty labels, and addresses. Some parsers would take a `;` or a `*` for more than a part of a
 * name.
 */
const HOST = /^(?:[a-z0-9\-_~!$&'()+,=]+(?:\.[a-z0-9\-_~!$&'()+,=]+)*|\[[0-9a-f:.]+\])(?::[0-9]+)?$/;
const NOT_CANONICAL =
  'must be a URL in its canonical form: a lower-case scheme and host, no default port, and only what is read as it is written';

/**
 * Whether a resource is a URL. A valid path never is: it would have an empty segment. A scheme contains no `/`, so the one
 * after it is the first.
 */
export function isUrl(resource: string): boolean {
  return resource.startsWith('://', resource.indexOf('/') - 1) && URL_START.test(resource);
}

/** The index of the `/` where the path of a URL begins; -1 if it has none. */
export function urlPathStart(url: string): number {
  return url.indexOf('/', url.indexOf('://') + '://'.length);
}

/**
 * What is wrong with the part of a URL before its path, or with how the path could be read; undefined if nothing is.
 */
export function urlFault(url: string): string | undefined {
  const start = urlPathStart(url);
  if (start < 0 || start === url.length - 1) return 'must be a URL with a path, as in "https://example.com/a"';
  const [scheme = '', authority = ''] = url.slice(0, start).split('://');
  if (authority.includes('@')) return 'must be a URL without user name and password';
  if (authority === '' && scheme !== 'file') return 'must be a URL with a host';
  if (scheme !== scheme.toLowerCase() || (authority !== '' && !HOST.test(authority))) return NOT_CANONICAL;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isReadAsWritten =
    parsed?.host === authority && percentDecoded(parsed.pathname) === percentDecoded(url.slice(start));
  return isReadAsWritten ? undefined : NOT_CANONICAL;
}
