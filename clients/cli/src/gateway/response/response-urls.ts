import { basePathOf } from '../upstream/upstream-client.js';

/** Turns URLs of an upstream into those under which the gateway serves it. */
export class ResponseUrls {
  /** URL of the request, which relative references in the answer begin from. */
  private readonly requestUrl: URL;
  private readonly basePath: string;

  /**
   * @param upstreamUrl as the file has it.
   * @param target path and query of the request below it, without credentials.
   * @param gatewayBase where the client reaches the upstream, without a final `/`, such as
   * `https://gateway.example.com/payments`.
   */
  constructor(
    private readonly upstreamUrl: URL,
    target: string,
    private readonly gatewayBase: string,
  ) {
    this.basePath = basePathOf(upstreamUrl);
    this.requestUrl = new URL(upstreamUrl.origin + this.basePath + target);
  }

  /** The gateway's URL for a reference in an answer; null if it is none, or leads elsewhere. */
  rewrite(reference: string): string | null {
    if (!URL.canParse(reference, this.requestUrl.href)) return null;
    const { origin, pathname, search, hash } = new URL(reference, this.requestUrl);
    if (origin !== this.upstreamUrl.origin) return null;
    const isBelow = pathname === this.basePath || pathname.startsWith(`${this.basePath}/`);
    return isBelow ? this.gatewayBase + pathname.slice(this.basePath.length) + search + hash : null;
  }

  /** A `Link` header without the targets that lead elsewhere; null if none is left, or if it is malformed. */
  rewriteLinks(header: string): string | null {
    const links = splitLinks(header);
    if (links === null) return null;
    const rewritten = links.flatMap(({ target, parameters }) => {
      const url = this.rewrite(target);
      return url === null ? [] : [`<${url}>${parameters}`];
    });
    return rewritten.length === 0 ? null : rewritten.join(', ');
  }
}

interface LinkValue {
  readonly target: string;
  /** The text from the first `;` on, as it came. */
  readonly parameters: string;
}

/** The links of a header; null if a target has no angle brackets around it, or a quote is not closed. */
function splitLinks(header: string): LinkValue[] | null {
  const texts = splitAtCommas(header);
  if (texts === null) return null;
  const links: LinkValue[] = [];
  for (const text of texts.map((part) => part.trim()).filter((part) => part !== '')) {
    const end = text.indexOf('>');
    const parameters = text.slice(end + 1);
    if (!text.startsWith('<') || end < 0 || !/^\s*(;|$)/.test(parameters)) return null;
    links.push({ target: text.slice(1, end), parameters });
  }
  return links;
}

/** Splits at commas outside angle brackets and quotes; null if one of these is not closed. */
function splitAtCommas(header: string): string[] | null {
  const parts: string[] = [];
  let start = 0;
  let closer: '>' | '"' | null = null;
  for (let index = 0; index < header.length; index += 1) {
    const character = header[index];
    if (closer === '"' && character === '\\') index += 1;
    else if (closer !== null) closer = character === closer ? null : closer;
    else if (character === '<') closer = '>';
    else if (character === '"') closer = '"';
    else if (character === ',') {
      parts.push(header.slice(start, index));
      start = index + 1;
    }
  }
  return closer === null ? [...parts, header.slice(start)] : null;
}
