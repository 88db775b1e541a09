/** A literal text, or one or more characters except the excluded ones. */
type Part = string | { readonly excluded: string };

/**
 * Bounds beyond which nothing matches: a server may list many templates, and the service accepts no longer resource.
 */
const MAX_URI_LENGTH = 512;
const MAX_EXPRESSIONS = 10;
/** Names of all expressions: each makes up to two parts, and a URI is compared with every part of every template. */
const MAX_NAMES = 20;
/** A URI, or a template, whose host has a user before it. */
const WITH_USER = /^[^/?#]*:\/\/[^/?#]*@/;

/**
 * Matches URIs with a template of RFC 6570 (URI Template). The time is the same for every template; a regular
 * expression could run for years on a template that a hostile server has chosen.
 */
export class ResourceTemplate {
  private constructor(
    private readonly parts: readonly Part[],
    private readonly hasUser: boolean,
  ) {}

  /** Parses a template; empty if it is invalid, or has too many expressions or names. */
  static parse(text: string): ResourceTemplate[] {
    const pieces = text.split(/\{([^{}]*)\}/);
    const isWhole = pieces.every((piece, index) => index % 2 === 1 || !/[{}]/.test(piece));
    if (!isWhole || pieces.length > 2 * MAX_EXPRESSIONS + 1) return [];
    const expressions = pieces.filter((_, index) => index % 2 === 1);
    if (expressions.join().split(',', MAX_NAMES + 1).length > MAX_NAMES) return [];
    return [
      new ResourceTemplate(
        pieces.flatMap((piece, index) => (index % 2 === 0 ? piece : partsOf(piece))),
        WITH_USER.test(text),
      ),
    ];
  }

  matches(uri: string): boolean {
    if (uri.length > MAX_URI_LENGTH) return false;
    // Servers ignore the user, so that a policy about the host would not see this URI.
    if (WITH_USER.test(uri) && !this.hasUser) return false;
    // Positions at which the parts so far can end have a 1.
    let ends = new Uint8Array(uri.length + 1).fill(1, 0, 1);
    for (const part of this.parts) {
      const next = new Uint8Array(uri.length + 1);
      if (typeof part !== 'string') markValues(uri, ends, part.excluded, next);
      else
        for (let index = ends.indexOf(1); index >= 0; index = ends.indexOf(1, index + 1))
          if (uri.startsWith(part, index)) next[index + part.length] = 1;
      if (!next.includes(1)) return false;
      ends = next;
    }
    return ends[uri.length] === 1;
  }
}

function markValues(uri: string, begins: Uint8Array, excluded: string, ends: Uint8Array): void {
  const [firstCode, secondCode] = [excluded.charCodeAt(0), excluded.charCodeAt(1)];
  for (let index = 0, isOpen = false; index < uri.length; index += 1) {
    const code = uri.charCodeAt(index);
    isOpen = (isOpen || begins[index] === 1) && code !== firstCode && code !== secondCode;
    if (isOpen) ends[index + 1] = 1;
  }
}

function partsOf(expression: string): Part[] {
  const [, operator = '', names = ''] = /^([+#./?&]?)(.*)$/s.exec(expression) ?? [];
  if (operator === '+' || operator === '#') return [{ excluded: '' }];
  if (operator === '?' || operator === '&')
    return names.split(',').flatMap((name, index) => {
      return [`${index === 0 ? operator : '&'}${name.replace('*', '').trim()}=`, { excluded: '&' }];
    });
  const value = { excluded: names.includes('*') ? '/' : '/,' };
  return operator === '' ? [value] : [operator, value];
}
