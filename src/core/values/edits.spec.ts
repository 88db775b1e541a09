import { editsBetween } from './edits';

describe('editsBetween', () => {
  it.each([
    ['support', 'support', 2, 0],
    ['support', 'suport', 2, 1],
    ['support', 'supprot', 1, 1],
    ['support', 'xsupporty', 2, 2],
    ['support', 'xsupporty', 1, Infinity],
    ['ca', 'abc', 3, 3],
    ['', 'ab', 2, 2],
    ['ab', '', 1, Infinity],
    ['abcd', 'efgh', 2, Infinity],
  ])('between %j and %j, at most %d, are %d', (one, other, most, edits) => {
    expect(editsBetween(one, other, most)).toBe(edits);
    expect(editsBetween(other, one, most)).toBe(edits);
  });
});
