/** One way to write a character. Each byte equals that of `lower` or that of `upper`: hex digits have either case. */
export interface Spelling {
  readonly lower: Buffer;
  readonly upper: Buffer;
}

/** Characters that JSON can write with a backslash before them. */
const WITH_BACKSLASH: ReadonlySet<string> = new Set(['"', '\\', '/']);

/** Names of characters in HTML and XML. */
const NAMES: Readonly<Record<string, string>> = { '"': 'quot', "'": 'apos', '&': 'amp', '<': 'lt', '>': 'gt' };
/** Characters that no program writes as references. */
const UNESCAPED = /^[A-Za-z0-9]$/;

const cache = new Map<string, readonly Spelling[]>();

/**
 * All ways in which an answer may write a character: as it is, percent-encoded as a whole or in part, escaped in JSON,
 * and as a reference of HTML.
 */
export function characterSpellings(character: string): readonly Spelling[] {
  const cached = cache.get(character);
  if (cached !== undefined) return cached;
  const texts = [...percentSpellings(character), jsonEscape(character)];
  if (WITH_BACKSLASH.has(character)) texts.push(plainSpelling(Buffer.from(`\\${character}`)));
  texts.push(...references(character));
  if (character === ' ') texts.push(plainSpelling(Buffer.from('+')));
  cache.set(character, texts);
  return texts;
}

/** Each byte of the character's UTF-8 stands as it is, or as `%` and two digits. */
function percentSpellings(character: string): Spelling[] {
  let spellings: Spelling[] = [plainSpelling(Buffer.alloc(0))];
  for (const byte of Buffer.from(character)) {
    const single = [plainSpelling(Buffer.from([byte])), hexSpelling(`%${hex(byte, 2)}`)];
    spellings = spellings.flatMap((start) => single.map((end) => join(start, end)));
  }
  return spellings;
}

/** `\u` and four digits for each UTF-16 code unit. */
function jsonEscape(character: string): Spelling {
  let spelling = plainSpelling(Buffer.alloc(0));
  for (let index = 0; index < character.length; index += 1) {
    const digits = hex(character.charCodeAt(index), 4);
    spelling = join(join(spelling, plainSpelling(Buffer.from('\\u'))), hexSpelling(digits));
  }
  return spelling;
}

/** The references of HTML and XML, by name and by number; PHP writes three digits. */
function references(character: string): Spelling[] {
  if (UNESCAPED.test(character)) return [];
  const code = character.codePointAt(0) ?? 0;
  const { [character]: name } = NAMES;
  const numbers = [`#${code}`, `#0${code}`, `#x${code.toString(16)}`];
  return [...(name === undefined ? [] : [name]), ...numbers].map((reference) => hexSpelling(`&${reference};`));
}

function join(start: Spelling, end: Spelling): Spelling {
  return { lower: Buffer.concat([start.lower, end.lower]), upper: Buffer.concat([start.upper, end.upper]) };
}

function plainSpelling(bytes: Buffer): Spelling {
  return { lower: bytes, upper: bytes };
}

function hexSpelling(text: string): Spelling {
  return { lower: Buffer.from(text.toLowerCase()), upper: Buffer.from(text.toUpperCase()) };
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
