import { maskKeys } from './key-mask';

describe('maskKeys', () => {
  it('takes every key out, as often as it occurs', () => {
    const mask = maskKeys(['the-current-key', 'the-former-key']);
    expect(mask('{"msg":"the-current-key the-former-key the-current-key"}')).toBe('{"msg":"[key] [key] [key]"}');
  });

  it('finds a key that JSON writes with escapes', () => {
    const key = 'quo"te\\and-more';
    expect(maskKeys([key])(JSON.stringify({ msg: `got ${key}` }))).toBe('{"msg":"got [key]"}');
  });

  it('leaves lines readable when a key is as short as a word', () => {
    expect(maskKeys(['level'])('{"level":"info"}')).toBe('{"level":"info"}');
  });
});
