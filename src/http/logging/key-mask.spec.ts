import { maskKeys } from './key-mask';

describe('maskKeys', () => {
  it('masks every occurrence of a key', () => {
    const mask = maskKeys(['the-current-key', 'the-previous-key']);
    expect(mask('{"msg":"the-current-key the-previous-key the-current-key"}')).toBe('{"msg":"[key] [key] [key]"}');
  });

  it('finds a key that contains JSON escapes', () => {
    const key = 'quo"te\\and-more';
    expect(maskKeys([key])(JSON.stringify({ msg: `got ${key}` }))).toBe('{"msg":"got [key]"}');
  });

  it('keeps lines readable if a key is as short as a word', () => {
    expect(maskKeys(['level'])('{"level":"info"}')).toBe('{"level":"info"}');
  });

  describe('knows by their form', () => {
    const key = `agk_01ARZ3NDEKTSV4RRFFQ69G5FAV_${'aB3_-'.repeat(8)}xyz`;
    const token = `${['{"alg":"ES256"}', '{"sub":"bot"}'].map((part) => Buffer.from(part).toString('base64url')).join('.')}.sig-_1`;
    const spaced = `${[' { "alg": "ES256" }', '{"sub":"some-bot"}'].map((part) => Buffer.from(part).toString('base64url')).join('.')}.${'sig-_1'.repeat(12)}`;
    const encode = (text: string): string => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
    const mask = maskKeys([]);

    it.each([
      ['an issued key', key],
      ['a token', token],
      ['a token whose header begins otherwise', spaced],
    ])('%s', (_, secret) => {
      const logged = (text: string): string => mask(JSON.stringify({ msg: text }));
      expect(logged(`got ${secret}, and ${secret}`)).toBe('{"msg":"got [key], and [key]"}');
      expect(logged(`a\n${secret}`)).toBe('{"msg":"a\\n[key]"}');
      expect(logged(`/é/${secret}/b?key=${secret}`)).toBe('{"msg":"/é/[key]/b?key=[key]"}');
      for (const text of [encode(secret), encode(encode(secret)), `Bearer%20${secret}`])
        expect(logged(text)).toBe('{"msg":"[key]"}');
    });

    it('except for the prefix of a key, or a word with a dot', () => {
      const line = JSON.stringify({
        msg: 'agk_01ARZ3NDEKTSV4RRFFQ69G5FAV keyJar.open eyJ governance-service.internal-network.example.com',
      });
      expect(mask(line)).toBe(line);
    });

    it('in time that grows with the line alone', () => {
      for (const text of ['eyJ', 'eyJ.', 'eyJ-', 'a.', `${'a'.repeat(16)}.`, 'agk_', key.slice(0, 31)])
        expect(mask(text.repeat(300_000 / text.length)).length).toBeGreaterThan(0);
    });
  });

  describe('finds a key that is percent-encoded', () => {
    const key = 'ab"cdef%41-ü';
    const encode = (text: string): string => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('');
    const logged = (text: string): string => maskKeys([key])(JSON.stringify({ path: `/é/${text}/b`, msg: 'é' }));
    const masked = '{"path":"[key]","msg":"é"}';

    it.each([
      ['whole', encode(key)],
      ['in capitals', encode(key).toUpperCase()],
      ['in one character', key.replace('c', '%63')],
      ['in half of a character', key.replace('ü', '%C3%bc')],
      ['where JSON escapes', key.replace('"', '%22')],
      ['in what looks encoded', key.replace('%', '%25')],
      ['twice', encode(encode(key))],
      ['twice in its digits alone', key.replace('c', '%%36%33')],
      ['eight times', key.replace('c', `%${'25'.repeat(7)}63`)],
      ['differently often', key.replace('c', '%2563').replace('d', '%64').replace('e', '%252565')],
    ])('%s', (_, text) => expect(logged(text)).toBe(masked));

    it('after the last digit of another encoded character', () => {
      expect(logged(`%${encode(key)}`)).toBe(masked);
    });

    it('and hides a text that is encoded excessively often', () => {
      expect(logged(key.replace('c', `%${'25'.repeat(8)}63`))).toBe(masked);
    });

    it('and leaves everything else unchanged', () => {
      const text = 'a%20b%2520%zz%C3%A9%e9"\\\u0001';
      expect(logged(text)).toBe(JSON.stringify({ path: `/é/${text}/b`, msg: 'é' }));
    });
  });
});
