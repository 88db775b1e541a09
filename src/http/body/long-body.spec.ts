import fc from 'fast-check';
import { DomainError, type FieldFault } from '../../core/errors/domain-error';
import { type JsonBody, parseJsonBody } from './json-body';
import { extentOf } from './json-extent';
import { parseLongBody } from './long-body';

const RULES = { mostInAll: 100_000, mostItemBytes: 100_000, refusesRepeatedNames: true };
/** Makes items so long that each is nearly a group of its own. */
const PADDING = 'é'.repeat(20_000);

type Parse = () => JsonBody | Promise<JsonBody>;

/** The message of the error; null if there is none. */
async function messageOf(parse: Parse): Promise<string | null> {
  try {
    await parse();
    return null;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return error.message;
  }
}

/**
 * The body and its faults in one order, or that it is refused. A body with several repeated names has a fault at one or
 * more of them.
 */
async function outcomeOf(parse: Parse): Promise<unknown> {
  const body = await Promise.resolve()
    .then(parse)
    .catch((error: unknown) => error);
  if (body instanceof DomainError) return 'refused';
  const { value, values, faults } = body as JsonBody;
  const isRepetition = ({ message }: FieldFault): boolean => message.includes('twice');
  const others = faults.filter((fault) => !isRepetition(fault)).map(({ field, message }) => `${field} ${message}`);
  return { value, values, isRepeated: faults.some(isRepetition), faults: others.sort() };
}

const name = fc.constantFrom('a', 'b', 'two words', '__proto__', '\u2028', '"', '\ufeff');
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>(1, null, 'text', PADDING, '",[{', '\0', '\ud800', '\\', '12345678901234567', '\ufeff'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }).map((members) => Object.fromEntries(members) as object),
  ),
}));
const list = fc.array(value, { maxLength: 12 });
const body = fc
  .array(fc.tuple(fc.constantFrom('policies', 'tests', 'other', '__proto__', '0'), fc.oneof(list, value)), {
    maxLength: 4,
  })
  .chain((members) =>
    fc.constantFrom(undefined, 2).map((indent) => {
      const texts = members.map(
        ([key, member]) => `${JSON.stringify(key)}:${JSON.stringify(member, undefined, indent)}`,
      );
      return `{${texts.join(',')}}`;
    }),
  );

describe('parseLongBody', () => {
  it('makes of any body what parseJsonBody makes of it', async () => {
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const bytes = Buffer.from(text);
        expect(await outcomeOf(() => parseLongBody(bytes, RULES))).toEqual(
          await outcomeOf(() => parseJsonBody(bytes, RULES)),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('refuses what is not JSON wherever parseJsonBody does', async () => {
    const mark = fc.constantFrom('', ',', '[', ']', '{', '}', '"', ':', ' ', '1', '],[', '\ufeff', '\\');
    await fc.assert(
      fc.asyncProperty(body, fc.double({ min: 0, max: 1, noNaN: true }), mark, async (text, share, mark) => {
        const at = Math.floor(share * text.length);
        const bytes = Buffer.from(text.slice(0, at) + mark + text.slice(at + 1));
        const rules = { ...RULES, mostItemBytes: Infinity };
        expect(await outcomeOf(() => parseLongBody(bytes, rules))).toEqual(
          await outcomeOf(() => parseJsonBody(bytes, rules)),
        );
      }),
      { numRuns: 500 },
    );
  });

  const items = Array.from({ length: 9 }, (_, index) => `\n{"name":"${PADDING}${index}"}`);

  it.each([
    ['in an item', `{"a":1,"list":[${items.join()},\n{"x" 1}]}`],
    ['behind a list', `{"a":1,"list":[${items.join()}] "b"}`],
    ['between two lists', `{"list":[${items.join()}],"é" 1,"more":[${items.join()}]}`],
  ])('names the line and column of a fault %s', async (_where, text) => {
    const bytes = Buffer.from(text);
    const message = await messageOf(() => parseJsonBody(bytes, RULES));
    expect(message).toMatch(/see line \d+, column \d+/);
    expect(await messageOf(() => parseLongBody(bytes, RULES))).toBe(message);
  });

  it('refuses a comma before the end of a list, also where a group ends', async () => {
    for (const count of [1, 4, 9]) {
      const text = `{"list":[${items.slice(0, count).join()},]}`;
      expect(await messageOf(() => parseLongBody(Buffer.from(text), RULES))).toContain('must be valid JSON');
    }
  });

  it('names repeated names and faulty texts in any group', async () => {
    const text = `{"list":[${items.join()},{"a":1,"b":{"c":1,"c":2}},"\\u0000"]}`;
    const { faults } = await parseLongBody(Buffer.from(text), RULES);
    expect(faults.map(({ field }) => field)).toEqual(['list[9].b.c', 'list[10]']);
  });
});

describe('The bytes of a body with items', () => {
  const bounds = { mostInAll: 100_000, mostItemBytes: 1_000 };
  const excess = (text: string): string | undefined => extentOf(Buffer.from(text), bounds).excess;
  const text = (bytes: number): string => JSON.stringify('x'.repeat(bytes - 2));

  it.each([1, 2, 40])('are bounded in each of %p items of a list, and outside of the items', (count) => {
    const list = (last: string): string => `{"list":[${[...Array<string>(count - 1).fill('1'), last].join()}]}`;
    expect(excess(list(text(1_000)))).toBeUndefined();
    expect(excess(list(text(1_001)))).toBe(`must have at most 1000 bytes in item ${count} of a list`);
    expect(excess(`{"list":[${text(1_001)},1]}`)).toBe('must have at most 1000 bytes in item 1 of a list');
    expect(excess(`{"list":[${Array(count).fill(text(1_000)).join()}],"a":${text(980)}}`)).toBeUndefined();
    expect(excess(`{"list":[${Array(count).fill(text(1_000)).join()}],"a":${text(990)}}`)).toBe(
      'must have at most 1000 bytes outside its items',
    );
  });
});
