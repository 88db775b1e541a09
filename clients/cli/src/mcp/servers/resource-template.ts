/** A text, or what stands for one or more characters other than these. */
type Part = string | { readonly without: string };

/** Beyond these nothing is matched: a server may list many templates, and the service takes no longer resource. */
const LONGEST_URI = 512;
const MOST_EXPRESSIONS = 10;
/** A URI, or a template, whose host has a user before it. */
const WITH_USER = /^[^/?#]*:\/\/[^/?#]*@/;

/**
 * A template of RFC 6570 (URI Template), as servers list them, and whether it can have made a URI. A server could choose one that a
 * regular expression would try for years, while nobody is served: this takes as long for each.
 */
export class ResourceTemplate {
  private constructor(
    private readonly parts: readonly Part[],
    private readonly hasUser: boolean,
  ) {}

  /** None for what is not a template. */
  static of(text: string): ResourceTemplate[] {
    const pieces = text.split(/\{([^{}]*)\}/);
    const isWhole = pieces.every((piece, index) => index % 2 === 1 || !/[{}]/.test(piece));
    if (!isWhole || pieces.length > 2 * MOST_EXPRESSIONS + 1) return [];
    return [
      new ResourceTemplate(
        pieces.flatMap((piece, index) => (index % 2 === 0 ? piece : partsOf(piece))),
        WITH_USER.test(text),
      ),
    ];
  }

  matches(uri: string): boolean {
    if (uri.length > LONGEST_URI) return false;
    // Servers ignore the user, so that a policy about the host would not see this URI.
    if (WITH_USER.test(uri) && !this.hasUser) return false;
    // Where the parts so far can end: 1 at each such place.
    let ends = new Uint8Array(uri.length + 1).fill(1, 0, 1);
    for (const part of this.parts) {
      const next = new Uint8Array(uri.length + 1);
      if (typeof part !== 'string') markValues(uri, ends, part.without, next);
      else
        for (let at = ends.indexOf(1); at >= 0; at = ends.indexOf(1, at + 1))
          if (uri.startsWith(part, at)) next[at + part.length] = 1;
      if (!next.includes(1)) return false;
      ends = next;
    }
    return ends[uri.length] === 1;
  }
}

function markValues(uri: string, begins: Uint8Array, without: string, ends: Uint8Array): void {
  const [one, other] = [without.charCodeAt(0), without.charCodeAt(1)];
  for (let at = 0, isOpen = false; at < uri.length; at += 1) {
    const code = uri.charCodeAt(at);
    isOpen = (isOpen || begins[at] === 1) && code !== one && code !== other;
    if (isOpen) ends[at + 1] = 1;
  }
}

function partsOf(expression: string): Part[] {
  const [, operator = '', names = ''] = /^([+#./?&]?)(.*)$/s.exec(expression) ?? [];
  if (operator === '+' || operator === '#') return [{ without: '' }];
  if (operator === '?' || operator === '&')
    return names.split(',').flatMap((name, index) => {
      return [`${index === 0 ? operator : '&'}${name.replace('*', '').trim()}=`, { without: '&' }];
    });
  const value = { without: names.includes('*') ? '/' : '/,' };
  return operator === '' ? [value] : [operator, value];
}
