import { parseFilter } from './scim-filter';

const NAMES = ['userName', 'externalId', 'active'] as const;

describe('parseFilter', () => {
  it.each([
    ['userName eq "ann"', [['userName', 'ann']]],
    ['USERNAME EQ "ann"', [['userName', 'ann']]],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ann"', [['userName', 'ann']]],
    ['active eq True', [['active', true]]],
    [String.raw`userName eq "CORP\\ann \"A\" (x) and [y]"`, [['userName', String.raw`CORP\ann "A" (x) and [y]`]]],
    [
      '  userName eq "a" AND externalId eq "b" and active eq false ',
      [
        ['userName', 'a'],
        ['externalId', 'b'],
        ['active', false],
      ],
    ],
  ])('reads %s', (text, conditions) => {
    expect(parseFilter(text, NAMES).map(({ name, value }) => [name, value])).toEqual(conditions);
  });

  it.each([
    ...['', ' ', 'userName', 'userName eq', 'userName eq ann', 'userName pr', 'userName co "a"', 'title eq "x"'],
    ...['userName eq "a" or userName eq "b"', 'not (userName eq "a")', '(userName eq "a")', 'userName eq "a" and'],
    'urn:ietf:params:scim:schemas:extension:acme:2.0:User:userName eq "ann"',
    ...['userName eq "a" externalId eq "b"', 'userName eq "a"and externalId eq "b"x', String.raw`userName eq "\x"`],
    `userName eq "${'\n'.repeat(1_000)}`,
    `userName eq "${'\\a'.repeat(900)}`,
    `userName eq "${'a'.repeat(2_000)}"`,
  ])('refuses %j', (text) => {
    expect(() => parseFilter(text, NAMES)).toThrow(expect.objectContaining({ extras: { scimType: 'invalidFilter' } }));
  });
});
